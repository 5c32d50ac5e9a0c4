package carc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// State is how a receiver's cache fares (CARC, figure 4).
type State uint8

// The states.
const (
	S1 State = iota // less is unconsumed than devices may write into the cache: reads hit
	S2              // less than the cache: reads hit when the buffers in use fit
	S3              // more than the cache: reads miss
	S4              // the receive queue is exhausted: and the sender stops
	States
)

func (s State) String() string {
	if s < States {
		return [States]string{"S1", "S2", "S3", "S4"}[s]
	}
	return "no state"
}

// Sensor tells the states of one receiver without counters of its cache: by what is unconsumed,
// which is known exactly, and by what else it is told. It looks once in a window of a round trip,
// and takes three windows for a change.
//
// From what it finds comes the δ of other memory traffic (formula 2, negative), for all connections
// alike: an eighth of the credits that are left less for a window in which reads are about to miss,
// a thirty-second of all more for one in which they are not. (An eighth of all would go from an
// eighth to nothing: where the cache holds a sixteenth of what is unconsumed, as with receive
// buffers that are used in turn, programs would starve.) A step is taken when the one before shows:
// when what is read came after it. That takes as long as what was unconsumed lasts, which is many
// windows when the program is slow; steps in each of them swing between all and nothing.
type Sensor struct {
	llc, ddio, receives units.Bytes
	window              units.Duration
	unconsumed          units.Bytes
	state               cc.CacheState
	cut                 int         // of the credits, in cuts
	stepped             bool        // in the window before
	consumed            units.Bytes // since the beginning
	shows               units.Bytes // of it, when what is read came after the step
	version             uint32      // counts windows, and what else makes Granters look
	adapts              bool

	ends  units.Time // of the window
	began bool
	most  units.Bytes // unconsumed in the window
	idle  units.Duration
	quiet units.Time // since when nothing is unconsumed, in the window
	back  units.Time // when the host polled again that had not

	idling            float64 // part of the time, smoothed
	polls, empty, run int     // the program's, in the window
	posted            int     // receives
	told              bool    // of posted
	canary            canary
	counted           bool // a counter says that reads miss
	hit, miss         units.Duration
	costs             [CostKinds]cost

	idleRun, fullRun, nearRun, beyondRun, withinRun, calmRun int

	phase State
	low   units.Bytes // what is unconsumed in that state is from low to before high
	high  units.Bytes
	since units.Time
	in    [States]units.Duration
}

const (
	// cuts is how fine δ is of other memory traffic. A window takes an eighth of what is left, and
	// gives cutBack (OURS).
	cuts    = 1024
	cutBack = cuts / 32

	// steady is how many windows in a row make a change (OURS).
	steady = 3
	// emptyPolls in a row say that a program waits for data; or a twentieth of the time without any
	// (OURS): what is less than that credits that are a little too few never get back.
	emptyPolls = 16
	idling     = 0.05
)

func (s *Sensor) init(o *options) {
	s.llc, s.ddio, s.receives, s.adapts = o.llc, o.ddio, o.receives, o.adapts
	s.hit, s.miss = 20*units.Nanosecond, 90*units.Nanosecond
}

// Unconsumed is what was delivered to programs and is not consumed.
func (s *Sensor) Unconsumed() units.Bytes { return s.unconsumed }

// Flags is what senders are told.
func (s *Sensor) Flags() cc.CacheState { return s.state }

// Cut is the δ of other memory traffic, as a part of the credits: 0 to 1.
func (s *Sensor) Cut() float64 { return float64(s.cut) / cuts }

// State answers the state.
func (s *Sensor) State() State {
	switch u := s.unconsumed; {
	case s.told && s.posted == 0 && u > 0, s.receives > 0 && u >= s.receives:
		return S4
	case u >= s.llc:
		return S3
	case u >= s.ddio:
		return S2
	}
	return S1
}

// Spent answers how long the receiver was in each state.
func (s *Sensor) Spent(now units.Time) [States]units.Duration {
	s.turn(now)
	return s.in
}

// turn books the time in the state, and finds the one that is.
func (s *Sensor) turn(now units.Time) {
	if s.began {
		s.in[s.phase] += now.Sub(s.since)
	}
	s.phase, s.since = s.State(), now
	switch s.low, s.high = 0, mostBytes; {
	case s.told && s.posted == 0: // of anything
		s.high = 1
		if s.phase == S4 {
			s.low, s.high = 1, mostBytes
		}
	case s.phase == S4:
		s.low = s.receives
	case s.phase == S3:
		s.low = s.llc
	case s.phase == S2:
		s.low, s.high = s.ddio, s.llc
	default:
		s.high = s.ddio
	}
	if s.receives > 0 && s.phase != S4 {
		s.high = min(s.high, s.receives)
	}
}

const mostBytes = units.Bytes(1) << 62

// moves says whether the state is another one.
func (s *Sensor) moves() bool { return s.unconsumed < s.low || s.unconsumed >= s.high }

// Receives says how many receives are posted: without any the state is S4.
func (s *Sensor) Receives(posted int, now units.Time) {
	s.posted, s.told = posted, true
	s.turn(now)
}

// Polled says that the program looked for completions, and whether there was none.
func (s *Sensor) Polled(empty bool, now units.Time) {
	s.pass(now)
	s.polls++
	if !empty {
		s.run = 0
		return
	}
	s.empty++
	s.run++
}

// grew is that so much more is unconsumed.
func (s *Sensor) grew(bytes units.Bytes, now units.Time) {
	s.pass(now)
	if s.unconsumed == 0 && bytes > 0 {
		s.idle += now.Sub(s.quiet)
	}
	s.unconsumed += bytes
	s.most = max(s.most, s.unconsumed)
	if s.unconsumed > s.ddio && s.state&cc.CacheBeyondDDIO == 0 {
		s.set(cc.CacheBeyondDDIO, true)
	}
	if s.moves() {
		s.turn(now)
	}
}

// shrank is that so much was consumed.
func (s *Sensor) shrank(bytes units.Bytes, now units.Time) {
	s.pass(now)
	s.consumed += bytes
	if s.unconsumed -= bytes; s.unconsumed == 0 && bytes > 0 {
		s.quiet = now
	}
	if s.moves() {
		s.turn(now)
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

// away is that the host did not poll for some time before now: no window passes in that, or a
// program that was never asked would seem to wait for data.
func (s *Sensor) away(d units.Duration, now units.Time) {
	if !s.began || s.back == now && now != 0 {
		return
	}
	s.back = now
	s.ends, s.quiet = s.ends.Add(d), s.quiet.Add(d)
}

// pass ends windows that are over.
func (s *Sensor) pass(now units.Time) {
	if !s.ends.After(now) {
		s.passed(now)
	}
}

func (s *Sensor) passed(now units.Time) {
	if !s.began {
		s.began, s.since, s.quiet = true, now, now
		s.ends = now.Add(s.window)
		return
	}
	s.version++
	over := int(now.Sub(s.ends)/s.window) + 1
	s.look()
	s.ends = s.ends.Add(s.window)
	s.begin()
	// Nothing happened in the windows between that one and this: as many count as may matter.
	for range min(over-1, cuts/cutBack+steady) {
		s.look()
		s.begin()
	}
	s.ends = s.ends.Add(units.Duration(over-1) * s.window)
	s.begin()
}

// begin is a window in which nothing has happened yet.
func (s *Sensor) begin() {
	s.most, s.idle, s.quiet = s.unconsumed, 0, s.ends.Add(-s.window)
	s.polls, s.empty, s.counted = 0, 0, false
}

// look judges a window at its end.
func (s *Sensor) look() {
	if s.unconsumed == 0 {
		s.idle += s.ends.Sub(s.quiet)
	}
	near := s.near()
	open := !near && s.canary.all > 0 // fewer canaries than tell
	if !open {
		count(&s.nearRun, &s.calmRun, near)
	}
	count(&s.beyondRun, &s.withinRun, s.most > s.ddio)
	count(&s.idleRun, &s.fullRun, s.idles())
	turn := func(flag cc.CacheState, on, off int) {
		if on >= steady {
			s.set(flag, true)
		} else if off >= steady {
			s.set(flag, false)
		}
	}
	turn(cc.CacheApproaching, s.nearRun, s.calmRun)
	if s.withinRun >= steady {
		s.set(cc.CacheBeyondDDIO, false)
	}
	turn(cc.CacheIdle, s.idleRun, s.fullRun)
	if s.state&cc.CacheApproaching != 0 { // it wins
		s.set(cc.CacheIdle, false)
	}
	if !open {
		s.step(near)
	}
}

// step adapts δ to other memory traffic.
func (s *Sensor) step(near bool) {
	if s.stepped { // and senders know by now
		s.shows = s.consumed + s.unconsumed
	}
	cut := s.cut
	switch {
	case !s.adapts || s.consumed < s.shows:
	case near && s.state&cc.CacheApproaching != 0:
		s.cut += (cuts - s.cut) / 8
	case !near && s.state&cc.CacheApproaching == 0:
		s.cut = max(s.cut-cutBack, 0)
	}
	s.stepped = s.cut != cut
}

// idles says whether the program waited for data for more than a twentieth of the last eight
// windows or so.
func (s *Sensor) idles() bool {
	part := float64(s.idle) / float64(s.window)
	switch {
	case s.polls == 0 || s.idle == 0:
	case s.run >= emptyPolls:
		part = 1
	default:
		part = float64(s.empty) / float64(s.polls)
	}
	s.idling += (part - s.idling) * smoothing
	return s.idling > idling
}

// count counts windows in a row, of either kind.
func count(yes, no *int, is bool) {
	if is {
		*yes, *no = *yes+1, 0
		return
	}
	*yes, *no = 0, *no+1
}
