package pace

import "github.com/goroce/goroce/units"

// Limiter paces the packets of many flows, each at its own rate. In the terms of WF²Q+, a packet
// of L bytes has a start time S and a finish time F = S + 8L/r. It is eligible from S on. Among
// eligible packets the one with the earliest F is sent first, and among equal F the one of the
// lowest flow.
//
// The start of a packet is the finish of the previous one. If the flow had nothing to send, the
// start is the current time, so idle flows earn no credit. A flow that fell behind because the port
// was busy with others may catch up at most the time since the previous call of Head, and the slot
// by which the wheel may have delayed it. After a stall of the host (Resume) it may not catch up at
// all.
//
// Rate must be the first call for a flow, except Forget. The caller then calls Wait when the flow
// has a packet to send, sends one when Head returns the flow, then calls Sent, and Again if there
// is another packet.
type Limiter struct {
	wheel *Wheel
	flows []flow
	ready ready
	slot  units.Duration // of the wheel
	// tick is the time of the last call of Head, prev that of the one before. Calls at the same
	// time count as one.
	tick, prev units.Time
}

// flow is the state of a flow.
type flow struct {
	rate      units.BitRate
	last      units.Time  // S of the last packet sent
	size      units.Bytes // L of the last packet sent
	finish    units.Time  // F of the last packet sent
	floor     units.Time  // lower bound of S of the waiting packet
	head      units.Bytes // L of the waiting packet
	heapIndex int32       // position in the ready heap
	state     state
}

type state uint8

const (
	idle     state = iota // nothing to send
	paused                // packet waiting, but no rate
	waiting               // in the wheel until its start
	eligible              // may send, in the ready heap
)

// NewLimiter returns a limiter that starts at now. The slot is PacketSlot or Slot.
func NewLimiter(now units.Time, slot units.Duration) *Limiter {
	shift := uint8(0)
	if slot == Slot {
		shift = timerShift
	}
	return &Limiter{wheel: newWheel(now, shift), slot: slot, tick: now, prev: now}
}

// Rate sets the rate of flow f; 0 or less pauses it. A waiting packet gets the start that follows
// from the new rate after the previous packet. A flow that resumes after a pause starts at now.
func (l *Limiter) Rate(f uint32, r units.BitRate, now units.Time) {
	for int(f) >= len(l.flows) {
		l.flows = append(l.flows, flow{last: now, finish: now})
	}
	w := &l.flows[f]
	if r = max(r, 0); r == w.rate {
		return
	}
	w.rate = r
	old := w.state
	if old != idle {
		l.Leave(f)
	}
	if r == 0 {
		if old != idle {
			w.state = paused
		}
		return
	}
	w.finish = w.last.Add(r.Duration(w.size))
	switch old {
	case paused:
		w.floor = now
		l.wait(f)
	case waiting, eligible:
		w.floor = later(w.floor, l.catchUp())
		l.wait(f)
	}
}

// Forget resets flow f to a flow without a rate.
func (l *Limiter) Forget(f uint32) {
	if int(f) < len(l.flows) {
		l.Leave(f)
		l.flows[f] = flow{last: l.tick, finish: l.tick}
	}
}

// Wait signals that flow f, which had nothing to send, has a packet of size bytes. It has no effect
// on a flow that is already waiting.
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
		w.finish = now // so long ago that the time has wrapped
	}
	l.wait(f)
}

// Head returns the flow that may send a packet now, and false if there is none. It returns the same
// flow until Sent or Leave, or until a flow with an earlier finish becomes eligible.
func (l *Limiter) Head(now units.Time) (f uint32, ok bool) {
	if now.After(l.tick) {
		l.prev, l.tick = l.tick, now
	}
	for f, due := l.wheel.Due(now); due; f, due = l.wheel.Due(now) {
		w := &l.flows[f]
		w.state = eligible
		l.ready.push(l.flows, entry{w.start().Add(w.rate.Duration(w.head)), f})
	}
	if len(l.ready) == 0 {
		return 0, false
	}
	return l.ready[0].flow, true
}

// Sent signals that flow f sent a packet of size bytes. The flow then has nothing to send unless
// Again follows.
func (l *Limiter) Sent(f uint32, size units.Bytes) {
	w := &l.flows[f]
	if w.state == idle { // sent without Wait: its start is now
		w.floor = l.tick
	}
	w.last, w.size = w.start(), size
	w.finish = w.last.Add(w.rate.Duration(size))
	l.Leave(f)
}

// Again signals that flow f, which just sent a packet, has another one of size bytes.
func (l *Limiter) Again(f uint32, size units.Bytes) {
	w := &l.flows[f]
	w.head, w.floor = size, l.catchUp()
	if w.rate == 0 {
		w.state = paused
		return
	}
	l.wait(f)
}

// Leave signals that flow f has nothing to send, or must not send.
func (l *Limiter) Leave(f uint32) {
	w := &l.flows[f]
	switch w.state {
	case waiting:
		l.wheel.Stop(f)
	case eligible:
		l.ready.remove(l.flows, w.heapIndex)
	}
	w.state = idle
}

// Started returns the exact start of the last packet of flow f. The wheel released it up to a
// slot later, and it left when the port had room and the flow was the head.
func (l *Limiter) Started(f uint32) units.Time { return l.flows[f].last }

// Next returns the earliest time at which a waiting flow becomes eligible, and false if none waits.
// Flows that Head found eligible are not included.
func (l *Limiter) Next() (units.Time, bool) { return l.wheel.Next() }

// wait puts a flow into the wheel, also if its start has passed: Head moves due flows to the ready
// heap in order of F.
func (l *Limiter) wait(f uint32) {
	w := &l.flows[f]
	w.state = waiting
	l.wheel.Set(f, w.start())
}

// start returns S of the waiting packet.
func (w *flow) start() units.Time { return later(w.finish, w.floor) }

// Resume signals that the host was stalled until now. Flows do not catch up on that time, which
// would cause a burst.
func (l *Limiter) Resume(now units.Time) { l.prev, l.tick = now, now }

// catchUp returns the earliest start of a flow that continues.
func (l *Limiter) catchUp() units.Time { return l.prev.Add(-l.slot) }

func later(t, u units.Time) units.Time {
	if t.Before(u) {
		return u
	}
	return t
}
