package carc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// State is the state of a receiver's cache (CARC, figure 4).
type State uint8

// The states.
const (
	S1 State = iota // less is unconsumed than DDIO may write into the cache: reads hit
	S2              // less than the cache: reads hit if the buffers in use fit
	S3              // more than the cache: reads miss
	S4              // the receive queue is exhausted, and the sender stops
	States
)

func (s State) String() string {
	if s < States {
		return [States]string{"S1", "S2", "S3", "S4"}[s]
	}
	return "no state"
}

// Sensor detects the state of one receiver's cache without hardware counters, from the amount of
// unconsumed data, which is known exactly, and from optional reports of the program. It evaluates
// windows of one round trip; three windows in a row change a flag.
//
// It also computes the δ of other memory traffic (formula 2, negative) as a reduction of the
// credits of all connections: a window in which reads are about to miss takes an eighth of the
// remaining credits, a window in which they are not returns a thirty-second of all. (If an eighth
// of all were taken, the last step would go from an eighth to nothing. Programs would starve where
// the cache holds a sixteenth of the unconsumed data, as with receive buffers that are used in
// rotation.) The next step is taken only when the last one shows, i.e. when the data being read
// arrived after it. That takes as long as the data that was unconsumed at the step lasts, which is
// many windows for a slow program; a step in each of them would oscillate between all credits and
// none.
type Sensor struct {
	llc, ddio, receives units.Bytes
	window              units.Duration
	unconsumed          units.Bytes
	state               cc.CacheState
	reduction           int         // reduction of the credits, in units of 1/cuts
	stepped             bool        // in the previous window
	consumed            units.Bytes // since the beginning
	showsAt             units.Bytes // value of consumed from which on the last step shows
	version             uint32      // incremented when Granters have to recompute their credits
	adapts              bool

	ends          units.Time // of the window
	began         bool
	maxUnconsumed units.Bytes // maximum of unconsumed in the window
	idle          units.Duration
	idleSince     units.Time // since when nothing is unconsumed, in the window
	backAt        units.Time // when the host polled again after an absence

	idleFraction           float64 // fraction of idle time, smoothed
	polls, empty, emptyRun int     // of the program: in the window, and empty ones in a row
	posted                 int     // receives
	postedKnown            bool    // posted is known
	canary                 canary
	counterMisses          bool // a hardware counter shows that reads miss
	hit, miss              units.Duration
	costs                  [CostKinds]cost

	// Numbers of windows in a row: idle or not, near misses or not, beyond DDIO or within it.
	idleRun, fullRun, nearRun, beyondRun, withinRun, calmRun int

	accounted State
	low       units.Bytes // the state holds while low <= unconsumed < high
	high      units.Bytes
	since     units.Time
	spent     [States]units.Duration
}

const (
	// cuts is the resolution of the reduction for other memory traffic. A window adds an eighth of
	// what is left to the reduction, or takes cutBack from it (OURS).
	cuts    = 1024
	cutBack = cuts / 32

	// steadyWindows is the number of windows in a row that change a flag (OURS).
	steadyWindows = 3
	// emptyPolls in a row mean that the program waits for data, and so does a fraction of
	// idleThreshold of the time without data (OURS). A larger fraction would leave credits that are
	// slightly too few uncorrected.
	emptyPolls    = 16
	idleThreshold = 0.05
)

func (s *Sensor) init(o *options) {
	s.llc, s.ddio, s.receives, s.adapts = o.llc, o.ddio, o.receives, o.adapts
	s.hit, s.miss = 20*units.Nanosecond, 90*units.Nanosecond
}

// Unconsumed returns the bytes that were delivered to programs and are not consumed.
func (s *Sensor) Unconsumed() units.Bytes { return s.unconsumed }

// Flags returns the flags that CREDITs carry.
func (s *Sensor) Flags() cc.CacheState { return s.state }

// Cut returns the reduction of the credits for other memory traffic as a fraction, 0 to 1.
func (s *Sensor) Cut() float64 { return float64(s.reduction) / cuts }

// State returns the current state.
func (s *Sensor) State() State {
	switch u := s.unconsumed; {
	case s.postedKnown && s.posted == 0 && u > 0, s.receives > 0 && u >= s.receives:
		return S4
	case u >= s.llc:
		return S3
	case u >= s.ddio:
		return S2
	}
	return S1
}

// Spent returns the time spent in each state.
func (s *Sensor) Spent(now units.Time) [States]units.Duration {
	s.enterState(now)
	return s.spent
}

// enterState accounts for the time in the old state, and enters the current one.
func (s *Sensor) enterState(now units.Time) {
	if s.began {
		s.spent[s.accounted] += now.Sub(s.since)
	}
	s.accounted, s.since = s.State(), now
	switch s.low, s.high = 0, maxBytes; {
	case s.postedKnown && s.posted == 0: // S4 with any unconsumed data
		s.high = 1
		if s.accounted == S4 {
			s.low, s.high = 1, maxBytes
		}
	case s.accounted == S4:
		s.low = s.receives
	case s.accounted == S3:
		s.low = s.llc
	case s.accounted == S2:
		s.low, s.high = s.ddio, s.llc
	default:
		s.high = s.ddio
	}
	if s.receives > 0 && s.accounted != S4 {
		s.high = min(s.high, s.receives)
	}
}

const maxBytes = units.Bytes(1) << 62

// hasLeftState reports whether the state has changed.
func (s *Sensor) hasLeftState() bool { return s.unconsumed < s.low || s.unconsumed >= s.high }

// Receives sets the number of posted receives; with unconsumed data and none posted the state is
// S4.
func (s *Sensor) Receives(posted int, now units.Time) {
	s.posted, s.postedKnown = posted, true
	s.enterState(now)
}

// Polled records that the program polled for completions, and whether there was none.
func (s *Sensor) Polled(empty bool, now units.Time) {
	s.advance(now)
	s.polls++
	if !empty {
		s.emptyRun = 0
		return
	}
	s.empty++
	s.emptyRun++
}

// onDelivered records a delivery.
func (s *Sensor) onDelivered(bytes units.Bytes, now units.Time) {
	s.advance(now)
	if s.unconsumed == 0 && bytes > 0 {
		s.idle += now.Sub(s.idleSince)
	}
	s.unconsumed += bytes
	s.maxUnconsumed = max(s.maxUnconsumed, s.unconsumed)
	if s.unconsumed > s.ddio && s.state&cc.CacheBeyondDDIO == 0 {
		s.set(cc.CacheBeyondDDIO, true)
	}
	if s.hasLeftState() {
		s.enterState(now)
	}
}

// onConsumed records a consumption.
func (s *Sensor) onConsumed(bytes units.Bytes, now units.Time) {
	s.advance(now)
	s.consumed += bytes
	if s.unconsumed -= bytes; s.unconsumed == 0 && bytes > 0 {
		s.idleSince = now
	}
	if s.hasLeftState() {
		s.enterState(now)
	}
}

func (s *Sensor) set(flag cc.CacheState, on bool) {
	was := s.state
	if s.state |= flag; !on {
		s.state &^= flag
	}
	if s.state != was {
		s.version++
	}
}

// onAbsence excludes a time in which the host did not poll from the current window. Otherwise a
// program that could not run would count as waiting for data.
func (s *Sensor) onAbsence(d units.Duration, now units.Time) {
	if !s.began || s.backAt == now && now != 0 {
		return
	}
	s.backAt = now
	s.ends, s.idleSince = s.ends.Add(d), s.idleSince.Add(d)
}

// advance ends the windows that are over.
func (s *Sensor) advance(now units.Time) {
	if !s.ends.After(now) {
		s.endWindows(now)
	}
}

func (s *Sensor) endWindows(now units.Time) {
	if !s.began {
		s.began, s.since, s.idleSince = true, now, now
		s.ends = now.Add(s.window)
		return
	}
	s.version++
	over := int(now.Sub(s.ends)/s.window) + 1
	s.endWindow()
	s.ends = s.ends.Add(s.window)
	s.beginWindow()
	// Nothing happened in the windows in between; only as many are evaluated as can change
	// anything.
	for range min(over-1, cuts/cutBack+steadyWindows) {
		s.endWindow()
		s.beginWindow()
	}
	s.ends = s.ends.Add(units.Duration(over-1) * s.window)
	s.beginWindow()
}

// beginWindow starts a window.
func (s *Sensor) beginWindow() {
	s.maxUnconsumed, s.idle, s.idleSince = s.unconsumed, 0, s.ends.Add(-s.window)
	s.polls, s.empty, s.counterMisses = 0, 0, false
}

// endWindow evaluates a window at its end.
func (s *Sensor) endWindow() {
	if s.unconsumed == 0 {
		s.idle += s.ends.Sub(s.idleSince)
	}
	near := s.missesImminent()
	open := !near && s.canary.all > 0 // too few canaries for a verdict
	if !open {
		countRun(&s.nearRun, &s.calmRun, near)
	}
	countRun(&s.beyondRun, &s.withinRun, s.maxUnconsumed > s.ddio)
	countRun(&s.idleRun, &s.fullRun, s.isIdle())
	turn := func(flag cc.CacheState, on, off int) {
		if on >= steadyWindows {
			s.set(flag, true)
		} else if off >= steadyWindows {
			s.set(flag, false)
		}
	}
	turn(cc.CacheApproaching, s.nearRun, s.calmRun)
	if s.withinRun >= steadyWindows {
		s.set(cc.CacheBeyondDDIO, false)
	}
	turn(cc.CacheIdle, s.idleRun, s.fullRun)
	if s.state&cc.CacheApproaching != 0 { // takes precedence
		s.set(cc.CacheIdle, false)
	}
	if !open {
		s.step(near)
	}
}

// step adapts the reduction for other memory traffic.
func (s *Sensor) step(near bool) {
	if s.stepped { // the senders know of the step by now
		s.showsAt = s.consumed + s.unconsumed
	}
	cut := s.reduction
	switch {
	case !s.adapts || s.consumed < s.showsAt:
	case near && s.state&cc.CacheApproaching != 0:
		s.reduction += (cuts - s.reduction) / 8
	case !near && s.state&cc.CacheApproaching == 0:
		s.reduction = max(s.reduction-cutBack, 0)
	}
	s.stepped = s.reduction != cut
}

// isIdle reports whether the program waited for data for more than a twentieth of about the last
// eight windows.
func (s *Sensor) isIdle() bool {
	part := float64(s.idle) / float64(s.window)
	switch {
	case s.polls == 0 || s.idle == 0:
	case s.emptyRun >= emptyPolls:
		part = 1
	default:
		part = float64(s.empty) / float64(s.polls)
	}
	s.idleFraction += (part - s.idleFraction) * smoothing
	return s.idleFraction > idleThreshold
}

// countRun counts the windows in a row that meet a condition, and those that do not.
func countRun(yes, no *int, is bool) {
	if is {
		*yes, *no = *yes+1, 0
		return
	}
	*yes, *no = 0, *no+1
}
