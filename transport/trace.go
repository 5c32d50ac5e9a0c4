package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// tracer records the events of an endpoint in its ring (Config.Trace). Without a ring the endpoint
// has none, and each place where an event may happen costs one branch. It only reads: a traced run
// behaves as any other. Its methods on a nil *tracer do nothing, except for those of every packet,
// whose callers test for nil.
type tracer struct {
	ring   *trace.Ring
	ep     *Endpoint
	flows  []flowTrace  // by flow
	reason trace.Reason // of the losses that are being found
	cause  cc.Kind      // event that congestion control is responding to

	classes   [packet.MaxClasses]portTrace
	noBuffers uint32
	bufferAt  units.Time // of the last NoBuffers
}

// portTrace is how often a class of the port was full since it was last recorded.
type portTrace struct {
	times   uint32
	fullAt  units.Time // since when; 0: it has room
	full    units.Duration
	flushed units.Time
}

// summary is the least time between two records of what is summed up.
const summary = units.Millisecond

// The shortest pauses of polling that are recorded: while an answer of a peer is expected, and
// otherwise, when naps are normal.
const (
	minTracedGap = 50 * units.Microsecond
	idleGap      = units.Millisecond
)

// newTracer returns the tracer of a ring; nil without one.
func newTracer(ring *trace.Ring, e *Endpoint) *tracer {
	if ring == nil {
		return nil
	}
	return &tracer{ring: ring, ep: e, cause: cc.POST}
}

// record records an event of a queue pair.
func (t *tracer) record(qp *QueuePair, ev *trace.Event) {
	ev.At, ev.QP = t.ep.now, qp.Num
	t.ring.Record(ev)
}

// because sets the reason of losses that are found from now on.
func (t *tracer) because(r trace.Reason) {
	if t != nil {
		t.reason = r
	}
}

// onSent records n PSNs from first on that leave now and carry, or ask for, size bytes.
func (t *tracer) onSent(qp *QueuePair, first wire.PSN, n, size uint32) {
	again := first.Before(qp.loss.highest())
	if !again && !t.ring.Samples(first) {
		return
	}
	ev := trace.Event{Kind: trace.PacketSent, Op: qp.snd.upcomingOpcode(), PSN: first, Count: n,
		Bytes: units.Bytes(size), InFlight: qp.loss.flight() + units.Bytes(size)}
	if qp.Type != RC {
		ev.InFlight = 0
	}
	if again {
		ev.Kind, ev.Reason = trace.PacketRetransmitted, t.flow(qp).lost
	}
	ev.Packets, ev.Total = qp.snd.sentSoFar()
	t.record(qp, &ev)
}

// onRunSent records n packets of size bytes from first on, each of its own request.
func (t *tracer) onRunSent(qp *QueuePair, first wire.PSN, op wire.Opcode, n, size uint32) {
	packets, total := qp.snd.sentSoFar()
	flight := qp.loss.flight()
	for i := range n {
		if psn := first.Add(i); t.ring.Samples(psn) {
			left := n - 1 - i
			t.record(qp, &trace.Event{Kind: trace.PacketSent, Op: op, PSN: psn, Count: 1,
				Bytes:    units.Bytes(size),
				InFlight: flight - units.Bytes(left)*units.Bytes(size),
				Packets:  packets - uint64(left),
				Total:    total - units.Bytes(left)*units.Bytes(size)})
		}
	}
}

// onResent records the retransmission of n PSNs in a selective recovery.
func (t *tracer) onResent(qp *QueuePair, psn wire.PSN, w *sendWQE, n, size uint32) {
	ev := trace.Event{Kind: trace.PacketRetransmitted, PSN: psn, Count: n, Op: qp.opcode(w,
		uint32(psn.Sub(w.first))), Bytes: units.Bytes(size),
		InFlight: qp.loss.flight() + units.Bytes(size), Reason: t.flow(qp).lost}
	ev.Packets, ev.Total = qp.snd.sentSoFar()
	t.record(qp, &ev)
}

// onResponse records a response that leaves.
func (t *tracer) onResponse(qp *QueuePair, op wire.Opcode, psn wire.PSN, size uint32) {
	if t.ring.Samples(psn) {
		t.record(qp, &trace.Event{Kind: trace.PacketSent, Op: op, PSN: psn, Count: 1,
			Bytes: units.Bytes(size)})
	}
}

// onReceived records a packet of the peer, before it is handled.
func (t *tracer) onReceived(qp *QueuePair, p *wire.Packet) {
	if p.Op == wire.RCAck || p.Op == wire.XACK {
		t.onAckPacket(qp, p)
		return
	}
	op := p.Op
	if op == wire.XDATA {
		op = p.Inner()
	}
	info := op.Info()
	if info.Kind == wire.Extension || info.Kind == wire.CNPKind {
		return // recorded where it is accepted
	}
	var order trace.Reason
	if info.Request && qp.Type == RC {
		switch expected := qp.rcv.expected(); {
		case p.PSN.Before(expected):
			order = trace.Duplicate
		case p.PSN != expected:
			order = trace.OutOfOrder
		}
	}
	if order == trace.NoReason && !t.ring.Samples(p.PSN) {
		return
	}
	ev := trace.Event{Kind: trace.PacketReceived, Op: op, PSN: p.PSN, Reason: order,
		Bytes: units.Bytes(p.End - p.PayloadOff)}
	if p.ECN == wire.ECNCE {
		ev.Flags = trace.CE
	}
	ev.Packets, ev.Total = qp.rcv.receivedSoFar()
	t.record(qp, &ev)
}

// onAckPacket records a NAK. What an ACK acknowledges is recorded when it is known.
func (t *tracer) onAckPacket(qp *QueuePair, p *wire.Packet) {
	s := p.AETH().Syndrome
	if s.IsAck() {
		return
	}
	ev := trace.Event{Kind: trace.NAKReceived, PSN: p.PSN, Reason: trace.NAKNotReady}
	if s.IsRNR() {
		ev.Delay = wire.RNRTimer(s.Code())
	} else {
		ev.Reason = nakReason(s.Code())
	}
	t.record(qp, &ev)
}

func nakReason(code uint8) trace.Reason {
	if code > wire.NakRemoteOperational {
		return trace.NAKInvalidRequest
	}
	return trace.NAKSequence + [...]trace.Reason{wire.NakPSNSequence: 0,
		wire.NakInvalidRequest: 2, wire.NakRemoteAccess: 3, wire.NakRemoteOperational: 4}[code]
}

// onAckSent records an ACK or NAK that leaves.
func (t *tracer) onAckSent(qp *QueuePair, s wire.Syndrome, psn wire.PSN) {
	if s.IsAck() && !t.ring.Samples(psn) {
		return
	}
	ev := trace.Event{Kind: trace.AckSent, PSN: psn}
	switch {
	case s.IsRNR():
		ev.Reason = trace.NAKNotReady
	case !s.IsAck():
		ev.Reason = nakReason(s.Code())
	}
	t.record(qp, &ev)
}

// onAcked records an acknowledgement, as it is reported to congestion control.
func (t *tracer) onAcked(qp *QueuePair, ev *cc.Event) {
	psn := wire.PSN(ev.PSN)
	if !t.ring.Samples(psn.Add(wire.PSNMask)) && ev.Marked == 0 {
		return
	}
	t.record(qp, &trace.Event{Kind: trace.AckReceived, PSN: psn, Count: uint32(ev.Packets),
		Bytes: ev.Bytes, Marked: uint32(ev.Marked), InFlight: qp.loss.flight(), Delay: ev.Delay,
		Host: ev.Endpoint})
}

// onLost records that n PSNs from psn on, of size bytes, count as lost.
func (t *tracer) onLost(qp *QueuePair, psn wire.PSN, n uint32, size units.Bytes) {
	if t == nil || n == 0 {
		return
	}
	t.flow(qp).lost = t.reason
	t.record(qp, &trace.Event{Kind: trace.PacketLost, PSN: psn, Count: n, Bytes: size,
		Reason: t.reason})
}

// onTimeout records a timeout of psn, after which so many retries are left.
func (t *tracer) onTimeout(qp *QueuePair, psn wire.PSN, left uint8) {
	if t != nil {
		t.reason = trace.LostTimeout
		t.record(qp, &trace.Event{Kind: trace.Timeout, PSN: psn, Count: uint32(left)})
	}
}

// onState records a change of state.
func (t *tracer) onState(qp *QueuePair, to State) {
	if t == nil || qp.state == to {
		return
	}
	t.flush(qp)
	t.record(qp, &trace.Event{Kind: trace.StateChanged, From: trace.State(qp.state),
		To: trace.State(to)})
	switch f := t.flow(qp); {
	case to == Reset:
		*f = flowTrace{}
	case f.limit != trace.NoReason && (to == Errored || to == SQErrored):
		f.limit = trace.LimitState
	}
}
