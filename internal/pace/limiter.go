package pace

import "github.com/goroce/goroce/units"

// Limiter lets packets of many flows go at the rate of each. Its names are WF²Q+'s: a packet of L
// bytes has a start S and a finish F = S + 8L/r. It may go when S has come; of those that may, the
// one with the earliest F goes first, and of several the one of the lowest flow.
//
// The start of a packet is the finish of the one before, but for a flow that had nothing to send,
// which earns no credit by that: then it is now. Nor may a flow that fell behind, because the port
// was busy with others, make up for more than what passed since the call of Head before this one,
// and a slot, by which the wheel may have let it go too late; nor for that, when the host stalled
// (Resume).
//
// A flow begins with Rate; nothing else may be said of one before, but Forget. Then a caller says
// Wait when the flow has a packet to send, sends one when Head names the flow, says Sent, and Again
// when there is one more.
type Limiter struct {
	wheel *Wheel
	flows []flow
	ready ready
	// tick is the time of the newest call of Head, prev of the one before; a call at the same
	// moment is the same call.
	tick, prev units.Time
}

// flow is what the limiter knows of a flow.
type flow struct {
	rate   units.BitRate
	last   units.Time  // S of the packet sent last
	size   units.Bytes // and its L
	finish units.Time  // and its F
	floor  units.Time  // S of the packet that waits is not before
	head   units.Bytes // its L
	at     int32       // its place among the ready
	state  state
}

type state uint8

const (
	idle   state = iota // has nothing to send
	paused              // has no rate
	waits               // for its start, in the wheel
	goes                // may send
)

// NewLimiter makes a limiter at a time.
func NewLimiter(now units.Time) *Limiter {
	return &Limiter{wheel: New(now), tick: now, prev: now}
}

// Rate sets the rate of flow f; 0 or less pauses it. A packet that waits gets the start it would
// have, had the packet before left at the new rate. A flow that goes on after a pause begins anew.
func (l *Limiter) Rate(f uint32, r units.BitRate, now units.Time) {
	for int(f) >= len(l.flows) {
		l.flows = append(l.flows, flow{last: now, finish: now})
	}
	w := &l.flows[f]
	if r = max(r, 0); r == w.rate {
		return
	}
	w.rate = r
	was := w.state
	if was != idle {
		l.Leave(f)
	}
	if r == 0 {
		if was != idle {
			w.state = paused
		}
		return
	}
	w.finish = w.last.Add(r.Duration(w.size))
	switch was {
	case paused:
		w.floor = now
		l.wait(f)
	case waits, goes:
		w.floor = later(w.floor, l.catchUp())
		l.wait(f)
	}
}

// Forget begins flow f anew, without a rate.
func (l *Limiter) Forget(f uint32) {
	if int(f) < len(l.flows) {
		l.Leave(f)
		l.flows[f] = flow{last: l.tick, finish: l.tick}
	}
}

// Wait says that flow f, which had nothing to send, has a packet of size bytes now. Of a flow that
// waits already it changes nothing.
func (l *Limiter) Wait(f uint32, size units.Bytes, now units.Time) {
	w := &l.flows[f]
	if w.state != idle {
		return
	}
	w.head, w.floor = size, now
	if w.rate == 0 {
		w.state = paused
		return
	}
	if w.finish.After(now) && w.finish.Sub(now) > w.rate.Duration(w.size) {
		w.finish = now // it is so long ago that time has wrapped
	}
	l.wait(f)
}

// Head answers the flow that may send a packet now, and the same again until Sent or Leave, or
// until another's finish is earlier; false when there is none.
func (l *Limiter) Head(now units.Time) (f uint32, ok bool) {
	if now.After(l.tick) {
		l.prev, l.tick = l.tick, now
	}
	for f, due := l.wheel.Due(now); due; f, due = l.wheel.Due(now) {
		w := &l.flows[f]
		w.state = goes
		l.ready.push(l.flows, entry{w.start().Add(w.rate.Duration(w.head)), f})
	}
	if len(l.ready) == 0 {
		return 0, false
	}
	return l.ready[0].flow, true
}

// Sent says that a packet of flow f of size bytes left, and that it has nothing to send any more
// unless Again follows.
func (l *Limiter) Sent(f uint32, size units.Bytes) {
	w := &l.flows[f]
	if w.state == idle { // nobody waited: it took its start
		w.floor = l.tick
	}
	w.last, w.size = w.start(), size
	w.finish = w.last.Add(w.rate.Duration(size))
	l.Leave(f)
}

// Again says that flow f, which just sent a packet, has one more of size bytes.
func (l *Limiter) Again(f uint32, size units.Bytes) {
	w := &l.flows[f]
	w.head, w.floor = size, l.catchUp()
	if w.rate == 0 {
		w.state = paused
		return
	}
	l.wait(f)
}

// Leave says that flow f has nothing to send, or may not.
func (l *Limiter) Leave(f uint32) {
	w := &l.flows[f]
	switch w.state {
	case waits:
		l.wheel.Stop(f)
	case goes:
		l.ready.remove(l.flows, w.at)
	}
	w.state = idle
}

// Started answers the exact start of the packet that flow f sent last: it was let go by the wheel
// up to a Slot later, and left when the port had room and no other came first.
func (l *Limiter) Started(f uint32) units.Time { return l.flows[f].last }

// Next answers when the first flow's start comes of those that wait, and false when none waits.
// Those that Head has let go are not among them.
func (l *Limiter) Next() (units.Time, bool) { return l.wheel.Next() }

// wait puts a flow into the wheel. That its start may have passed makes no difference: Head takes
// out again what is due, in the order of F.
func (l *Limiter) wait(f uint32) {
	w := &l.flows[f]
	w.state = waits
	l.wheel.Set(f, w.start())
}

// start is S of the packet that waits.
func (w *flow) start() units.Time { return later(w.finish, w.floor) }

// Resume says that the host did something else until now. What was missed meanwhile is not made up
// for: that would be a burst.
func (l *Limiter) Resume(now units.Time) { l.prev, l.tick = now, now }

// catchUp is how far back a flow that goes on may start.
func (l *Limiter) catchUp() units.Time { return l.prev.Add(-Slot) }

func later(t, u units.Time) units.Time {
	if t.Before(u) {
		return u
	}
	return t
}
