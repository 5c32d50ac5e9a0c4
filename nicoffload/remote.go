package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Apart is the memory of a soft NIC that runs in another process than the packet pipeline, on a
// DPU's core say: a Link to the agent, a ring of signals to the NIC, one of results back, and a
// clock.
type Apart struct {
	*Link
	mem []byte
}

// The layout of an Apart, after its Link.
const (
	SignalSlots = 16384
	ResultSlots = 1024

	apartTicks   = (LinkBytes + 63) &^ 63 // 1 when time comes by ticks
	apartDone    = apartTicks + 64        // the number of the last tick obeyed
	apartSignals = apartDone + 64
	apartResults = apartSignals + ringHeader + SignalSlots*Slot

	// ApartBytes is how much memory an Apart takes.
	ApartBytes = apartResults + ringHeader + ResultSlots*Slot
)

// tick is the type of a record in the ring of signals that tells the time.
const tick Type = 34

// MakeApart makes one in memory that begins at a multiple of 8 and is all zeros. With ticks the NIC
// has no clock of its own: time is what the pipeline's Poll was told, which is for tests.
func MakeApart(mem []byte, ticks bool) (*Apart, error) {
	if len(mem) < ApartBytes {
		return nil, fmt.Errorf("nicoffload: a NIC's memory of %d bytes, it takes %d", len(mem),
			ApartBytes)
	}
	l, err := MakeLink(mem)
	if err != nil {
		return nil, err
	}
	if ticks {
		word(mem[apartTicks:]).Store(1)
	}
	return &Apart{l, mem}, nil
}

// OpenApart finds the one that another process made in memory.
func OpenApart(mem []byte) (*Apart, error) {
	if len(mem) < ApartBytes {
		return nil, fmt.Errorf("nicoffload: a NIC's memory of %d bytes, it takes %d", len(mem),
			ApartBytes)
	}
	l, err := OpenLink(mem)
	if err != nil {
		return nil, err
	}
	return &Apart{l, mem}, nil
}

func (a *Apart) ticks() bool { return word(a.mem[apartTicks:]).Load() != 0 }

// Remote is the pipeline's end of an Apart: a Datapath whose NIC is elsewhere. It never waits for
// it.
type Remote struct {
	apart   *Apart
	signals *Producer
	results *Consumer
	nic     watch // signals that nobody takes
	agent   watch // messages that nobody fetches
	flows   map[Handle]cc.Decision
	untold  lives     // that there was no room for
	kept    []keptOne // single signals, likewise
	frame   [MaxMessage + Slot]byte
	msg     Message
	cmd     command
	ticks   uint64
	virtual bool

	lost, malformed uint64
}

// Remote makes the pipeline's end.
func (a *Apart) Remote(now units.Time) (*Remote, error) {
	signals, err := NewProducer(a.mem[apartSignals:], SignalSlots)
	if err != nil {
		return nil, err
	}
	results, err := NewConsumer(a.mem[apartResults:], ResultSlots)
	if err != nil {
		return nil, err
	}
	up, err := newEnd(a.mem[linkUp:], UpSlots)
	if err != nil {
		return nil, err
	}
	return &Remote{
		apart: a, signals: signals, results: results, flows: make(map[Handle]cc.Decision),
		virtual: a.ticks(),
		nic:     watch{end: signals.end, heard: now}, agent: watch{end: up, heard: now},
	}, nil
}

// Open implements Datapath.
func (r *Remote) Open(f Handle, first cc.Decision, now units.Time) {
	r.flows[f] = first
	r.tell(life{f, Started, now})
}

// Close implements Datapath.
func (r *Remote) Close(f Handle, now units.Time) {
	delete(r.flows, f)
	r.tell(life{f, Stopped, now})
}

// tell says that a flow began, with the decision that it has, or ended. It is never lost.
func (r *Remote) tell(l life) {
	if r.untold.waiting() > 0 || !r.push(l) {
		r.untold.add(l)
	}
}

func (r *Remote) push(l life) bool {
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

// keptOne is a signal without like that waits for room.
type keptOne struct {
	flow Handle
	ev   cc.Event
	at   units.Time
}

// mostKept is more than flows have signals without like while a NIC is started again.
const mostKept = 1 << 16

// Report implements Datapath. A signal that there is no room for is lost, and counted, but for
// single ones.
func (r *Remote) Report(f Handle, ev *cc.Event, now units.Time) {
	if int(ev.Kind) >= len(typeOf) {
		r.malformed++
		return
	}
	m := &r.msg
	m.Flow, m.Type, m.Class, m.Count, m.First, m.Reported = f, typeOf[ev.Kind], Raw, 1, now, now
	m.Event, m.SegmentID, m.Segment = *ev, 0, nil
	b := r.frame[:m.Encode(r.frame[:], false)]
	switch alone := single(b); {
	case r.untold.waiting() == 0 && !(alone && len(r.kept) > 0) && r.signals.Push(b):
	case alone && len(ev.INT) == 0 && len(r.kept) < mostKept:
		r.kept = append(r.kept, keptOne{f, *ev, now})
	default:
		r.lost++
	}
}

// tellKept reports what was kept, in order.
func (r *Remote) tellKept() {
	kept := r.kept
	r.kept = nil
	for i := range kept {
		if _, open := r.flows[kept[i].flow]; open {
			r.Report(kept[i].flow, &kept[i].ev, kept[i].at)
		}
	}
}

// Poll implements Datapath.
func (r *Remote) Poll(now units.Time) units.Time {
	for l, some := r.untold.next(); some && r.push(l); l, some = r.untold.next() {
		r.untold.told()
	}
	if len(r.kept) > 0 && r.signals.roomFor(SignalSlots/2) >= SignalSlots/2 {
		r.tellKept()
	}
	if r.virtual {
		r.msg = Message{Flow: Handle(r.ticks + 1), Type: tick, First: now}
		if r.signals.Push(r.frame[:r.msg.Encode(r.frame[:], true)]) {
			r.ticks++
		}
	}
	return now.Add(units.Forever)
}

// Settled says whether the NIC has done all that it was told before the last Poll; for time that
// comes by ticks.
func (r *Remote) Settled() bool {
	return uint32(word(r.apart.mem[apartDone:]).Load()) == uint32(r.ticks)
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

// Silence implements Datapath: of the NIC or of the agent, whoever is silent longer.
func (r *Remote) Silence(now units.Time) units.Duration {
	return max(r.nic.silence(now), r.agent.silence(now))
}

// Reopen tells a NIC that was started anew which flows there are, and what holds for them.
func (r *Remote) Reopen(now units.Time) {
	r.untold.clear()
	for f := range r.flows {
		r.tell(life{f, Started, now})
	}
}

// Lost answers how many signals there was no room for, and how many records of the NIC's made no
// sense.
func (r *Remote) Lost() (signals, malformed uint64) {
	return r.lost, r.malformed + r.results.broken
}

// Served is the soft NIC's end of an Apart.
type Served struct {
	apart   *Apart
	board   *Board
	signals *Consumer
	results *Producer
	buf     []byte
	frame   [Slot]byte
	msg     Message
	cmd     command
	result  Result
	clock   Clock
}

// Serve makes the NIC's end, with a NIC behind it.
func (a *Apart) Serve(n *NIC) (*Served, error) {
	board, err := a.Board(n)
	if err != nil {
		return nil, err
	}
	signals, err := NewConsumer(a.mem[apartSignals:], SignalSlots)
	if err != nil {
		return nil, err
	}
	results, err := NewProducer(a.mem[apartResults:], ResultSlots)
	if err != nil {
		return nil, err
	}
	return &Served{apart: a, board: board, signals: signals, results: results,
		buf: make([]byte, SignalSlots*Slot)}, nil
}

// Poll does one round, and says whether it found anything to do. own is a clock that need not be
// the pipeline's: the NIC's time is that of the newest signal, and goes on from there.
func (s *Served) Poll(own units.Time) (busy bool) {
	ticks := s.apart.ticks()
	n := s.signals.Pull(s.buf)
	for at := 0; at < n; {
		length, ok := s.signal(s.buf[at:n])
		if !ok {
			s.board.nic.counters.Malformed++
			break // where the next one begins nobody knows
		}
		if !ticks {
			s.clock.Hear(units.Time(le.Uint64(s.buf[at+16:])), own)
		}
		at += length
	}
	if !ticks {
		s.board.Poll(s.clock.Now(own))
		s.giveResults()
	}
	return n > 0
}

// signal takes in one record.
func (s *Served) signal(b []byte) (length int, ok bool) {
	if len(b) >= Slot && Type(b[4]) == tick {
		now := units.Time(le.Uint64(b[16:]))
		s.board.Poll(now)
		s.giveResults()
		s.board.Poll(now) // an idle one, which shows the counters
		word(s.apart.mem[apartDone:]).Store(uint64(le.Uint32(b)))
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
		s.board.Open(m.Flow, s.cmd.result, m.First)
	case Stopped:
		s.board.Close(m.Flow, m.First)
	default:
		s.board.Report(m.Flow, &m.Event, m.First)
	}
	return length, true
}

func (s *Served) giveResults() {
	for s.results.roomFor(1) > 0 {
		r := &s.result
		if !s.board.Result(r) {
			return
		}
		s.cmd = command{op: opResult, flow: r.Flow, result: r.Decision}
		s.cmd.encode(s.frame[:])
		s.results.Push(s.frame[:])
	}
}
