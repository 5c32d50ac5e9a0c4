package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// ProcessLink is the shared memory of a soft NIC in another process than the packet pipeline, for
// example on a DPU's core: a Link to the agent, a ring of signals to the NIC, a ring of results
// back, and a clock.
type ProcessLink struct {
	*Link
	mem []byte
}

// The layout of a ProcessLink, after its Link.
const (
	SignalSlots = 16384
	ResultSlots = 1024

	processTicks   = (LinkBytes + 63) &^ 63 // 1 if ticks advance the time
	processDone    = processTicks + 64      // the number of the last tick processed
	processSignals = processDone + 64
	processResults = processSignals + ringHeader + SignalSlots*Slot

	// ProcessLinkBytes is the size of a ProcessLink.
	ProcessLinkBytes = processResults + ringHeader + ResultSlots*Slot
)

// tick is the type of a record in the ring of signals that carries the time.
const tick Type = 34

// InitProcessLink initializes a ProcessLink in memory that is zeroed and begins at a multiple of 8.
// With ticks, which are for tests, the NIC has no clock of its own: its time is the argument of the
// pipeline's Poll.
func InitProcessLink(mem []byte, ticks bool) (*ProcessLink, error) {
	if len(mem) < ProcessLinkBytes {
		return nil, fmt.Errorf("nicoffload: process link in %d bytes, want %d", len(mem),
			ProcessLinkBytes)
	}
	l, err := InitLink(mem)
	if err != nil {
		return nil, err
	}
	if ticks {
		word(mem[processTicks:]).Store(1)
	}
	return &ProcessLink{l, mem}, nil
}

// OpenProcessLink returns the ProcessLink that another process has initialized in memory.
func OpenProcessLink(mem []byte) (*ProcessLink, error) {
	if len(mem) < ProcessLinkBytes {
		return nil, fmt.Errorf("nicoffload: process link in %d bytes, want %d", len(mem),
			ProcessLinkBytes)
	}
	l, err := OpenLink(mem)
	if err != nil {
		return nil, err
	}
	return &ProcessLink{l, mem}, nil
}

func (a *ProcessLink) ticks() bool { return word(a.mem[processTicks:]).Load() != 0 }

// Remote is the pipeline's end of a ProcessLink: a Datapath whose NIC is in another process. It
// never waits for that process.
type Remote struct {
	link      *ProcessLink
	signals   *Producer
	results   *Consumer
	nic       consumerWatch // of the ring of signals
	agent     consumerWatch // of the ring of messages
	flows     map[Handle]cc.Decision
	lifecycle lifecycleQueue // waiting for room
	held      []heldSignal   // essential signals waiting for room
	frame     [MaxMessage + Slot]byte
	msg       Message
	cmd       command
	ticks     uint64
	virtual   bool

	lost, malformed uint64
}

// Remote returns the pipeline's end.
func (a *ProcessLink) Remote(now units.Time) (*Remote, error) {
	signals, err := NewProducer(a.mem[processSignals:], SignalSlots)
	if err != nil {
		return nil, err
	}
	results, err := NewConsumer(a.mem[processResults:], ResultSlots)
	if err != nil {
		return nil, err
	}
	up, err := newEnd(a.mem[linkUp:], UpSlots)
	if err != nil {
		return nil, err
	}
	return &Remote{
		link: a, signals: signals, results: results, flows: make(map[Handle]cc.Decision),
		virtual: a.ticks(),
		nic:     consumerWatch{ringEnd: signals.ringEnd, movedAt: now},
		agent:   consumerWatch{ringEnd: up, movedAt: now},
	}, nil
}

// Open implements Datapath.
func (r *Remote) Open(f Handle, first cc.Decision, now units.Time) {
	r.flows[f] = first
	r.reportLifecycle(lifecycleEvent{f, Started, now})
}

// Close implements Datapath.
func (r *Remote) Close(f Handle, now units.Time) {
	delete(r.flows, f)
	r.reportLifecycle(lifecycleEvent{f, Stopped, now})
}

// reportLifecycle reports that a flow began, with its current decision, or ended. The report is
// never lost.
func (r *Remote) reportLifecycle(l lifecycleEvent) {
	if r.lifecycle.waiting() > 0 || !r.pushLifecycle(l) {
		r.lifecycle.add(l)
	}
}

func (r *Remote) pushLifecycle(l lifecycleEvent) bool {
	m := &r.msg
	*m = Message{Flow: l.flow, Type: l.t, Count: 1, First: l.at}
	n := m.Encode(r.frame[:], true)
	if l.t == Started {
		r.cmd = command{op: opResult, flow: l.flow, result: r.flows[l.flow]}
		r.cmd.encode(r.frame[n:])
		n += Slot
	}
	return r.signals.Push(r.frame[:n])
}

// heldSignal is an essential signal that waits for room.
type heldSignal struct {
	flow Handle
	ev   cc.Event
	at   units.Time
}

// maxHeld is more than the number of essential signals during the restart of a NIC.
const maxHeld = 1 << 16

// Report implements Datapath. A signal without room in the ring is lost and counted, unless it is
// essential.
func (r *Remote) Report(f Handle, ev *cc.Event, now units.Time) {
	if int(ev.Kind) >= len(typeOf) {
		r.malformed++
		return
	}
	m := &r.msg
	m.Flow, m.Type, m.Class, m.Count, m.First, m.Reported = f, typeOf[ev.Kind], Raw, 1, now, now
	m.Event, m.SegmentID, m.Segment = *ev, 0, nil
	b := r.frame[:m.Encode(r.frame[:], false)]
	switch essential := isEssential(b); {
	case r.lifecycle.waiting() == 0 && !(essential && len(r.held) > 0) && r.signals.Push(b):
	case essential && len(ev.INT) == 0 && len(r.held) < maxHeld:
		r.held = append(r.held, heldSignal{f, *ev, now})
	default:
		r.lost++
	}
}

// reportHeld reports the held signals, in order.
func (r *Remote) reportHeld() {
	held := r.held
	r.held = nil
	for i := range held {
		if _, open := r.flows[held[i].flow]; open {
			r.Report(held[i].flow, &held[i].ev, held[i].at)
		}
	}
}

// Poll implements Datapath.
func (r *Remote) Poll(now units.Time) units.Time {
	for l, some := r.lifecycle.peek(); some && r.pushLifecycle(l); l, some = r.lifecycle.peek() {
		r.lifecycle.pop()
	}
	if len(r.held) > 0 && r.signals.roomFor(SignalSlots/2) >= SignalSlots/2 {
		r.reportHeld()
	}
	if r.virtual {
		r.msg = Message{Flow: Handle(r.ticks + 1), Type: tick, First: now}
		if r.signals.Push(r.frame[:r.msg.Encode(r.frame[:], true)]) {
			r.ticks++
		}
	}
	return now.Add(units.Forever)
}

// Settled reports whether the NIC has processed everything before the last Poll, if ticks advance
// its time.
func (r *Remote) Settled() bool {
	return uint32(word(r.link.mem[processDone:]).Load()) == uint32(r.ticks)
}

// Result implements Datapath.
func (r *Remote) Result(into *Result) bool {
	for r.results.Pull(r.frame[:Slot]) > 0 {
		if r.cmd.decode(r.frame[:Slot]) != nil || r.cmd.op != opResult {
			r.malformed++
			continue
		}
		if _, open := r.flows[r.cmd.flow]; open {
			r.flows[r.cmd.flow] = r.cmd.result
			into.Flow, into.Decision = r.cmd.flow, r.cmd.result
			return true
		}
	}
	return false
}

// Silence implements Datapath: the longer of the silences of the NIC and of the agent.
func (r *Remote) Silence(now units.Time) units.Duration {
	return max(r.nic.silence(now), r.agent.silence(now))
}

// Reopen reports all flows, with their current decisions, to a restarted NIC.
func (r *Remote) Reopen(now units.Time) {
	r.lifecycle.clear()
	for f := range r.flows {
		r.reportLifecycle(lifecycleEvent{f, Started, now})
	}
}

// Lost returns the number of signals lost because there was no room, and the number of malformed
// records from the NIC.
func (r *Remote) Lost() (signals, malformed uint64) {
	return r.lost, r.malformed + r.results.broken
}

// ServedNIC is the soft NIC's end of a ProcessLink.
type ServedNIC struct {
	link    *ProcessLink
	side    *NICSide
	signals *Consumer
	results *Producer
	buf     []byte
	frame   [Slot]byte
	msg     Message
	cmd     command
	result  Result
	clock   Clock
}

// Serve returns the NIC's end, with a NIC behind it.
func (a *ProcessLink) Serve(n *NIC) (*ServedNIC, error) {
	side, err := a.NICSide(n)
	if err != nil {
		return nil, err
	}
	signals, err := NewConsumer(a.mem[processSignals:], SignalSlots)
	if err != nil {
		return nil, err
	}
	results, err := NewProducer(a.mem[processResults:], ResultSlots)
	if err != nil {
		return nil, err
	}
	return &ServedNIC{link: a, side: side, signals: signals, results: results,
		buf: make([]byte, SignalSlots*Slot)}, nil
}

// Poll runs one round, and reports whether there was anything to do. own is a clock that need not
// be the pipeline's: the NIC's time is extrapolated from that of the newest signal.
func (s *ServedNIC) Poll(own units.Time) (busy bool) {
	ticks := s.link.ticks()
	n := s.signals.Pull(s.buf)
	for at := 0; at < n; {
		length, ok := s.signal(s.buf[at:n])
		if !ok {
			s.side.nic.counters.Malformed++
			break // the next record cannot be located
		}
		if !ticks {
			s.clock.Update(units.Time(le.Uint64(s.buf[at+16:])), own)
		}
		at += length
	}
	if !ticks {
		s.side.Poll(s.clock.Now(own))
		s.giveResults()
	}
	return n > 0
}

// signal processes one record.
func (s *ServedNIC) signal(b []byte) (length int, ok bool) {
	if len(b) >= Slot && Type(b[4]) == tick {
		now := units.Time(le.Uint64(b[16:]))
		s.side.Poll(now)
		s.giveResults()
		s.side.Poll(now) // publishes the counters
		word(s.link.mem[processDone:]).Store(uint64(le.Uint32(b)))
		return Slot, true
	}
	m := &s.msg
	length, err := m.Decode(b)
	if err != nil {
		return 0, false
	}
	switch m.Type {
	case Started:
		if len(b) < length+Slot || s.cmd.decode(b[length:]) != nil || s.cmd.op != opResult {
			return 0, false
		}
		length += Slot
		s.side.Open(m.Flow, s.cmd.result, m.First)
	case Stopped:
		s.side.Close(m.Flow, m.First)
	default:
		s.side.Report(m.Flow, &m.Event, m.First)
	}
	return length, true
}

func (s *ServedNIC) giveResults() {
	for s.results.roomFor(1) > 0 {
		r := &s.result
		if !s.side.Result(r) {
			return
		}
		s.cmd = command{op: opResult, flow: r.Flow, result: r.Decision}
		s.cmd.encode(s.frame[:])
		s.results.Push(s.frame[:])
	}
}
