package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// flowTrace is what the tracer keeps of a queue pair.
type flowTrace struct {
	lost   trace.Reason // of the newest loss
	limit  trace.Reason // what limits the sender now; none before its first turn
	since  units.Time   // when spent was last brought up to date
	wrote  units.Time   // when spent was last recorded
	spent  [limits]units.Duration
	window units.Bytes // of the last decision that was recorded
	rate   units.BitRate
}

// limits is the number of trace.Limits.
const limits = trace.LimitState - trace.LimitProgram + 1

// flow returns what is kept of a queue pair.
func (t *tracer) flow(qp *QueuePair) *flowTrace {
	f := int(qp.cong.flowID())
	for len(t.flows) <= f {
		t.flows = append(t.flows, flowTrace{})
	}
	return &t.flows[f]
}

// onTurn records what limits the sender after its turn; a turn without room in the port ends with
// portFull.
func (t *tracer) onTurn(qp *QueuePair, portFull bool) {
	f, now := t.flow(qp), t.ep.now
	if f.limit != trace.NoReason {
		f.spent[f.limit-trace.LimitProgram] += now.Sub(f.since)
	} else {
		f.wrote = now
	}
	f.limit, f.since = qp.limitedBy(portFull), now
	if now.Sub(f.wrote) >= summary {
		t.writeLimits(qp, f)
	}
}

// writeLimits records for how long each reason limited the sender since the last record.
func (t *tracer) writeLimits(qp *QueuePair, f *flowTrace) {
	for i, d := range f.spent {
		if d > 0 {
			t.record(qp, &trace.Event{Kind: trace.Limited,
				Reason: trace.LimitProgram + trace.Reason(i), Delay: d})
		}
	}
	f.spent, f.wrote = [limits]units.Duration{}, f.since
}

// flush records what is summed up of a queue pair.
func (t *tracer) flush(qp *QueuePair) {
	if f := t.flow(qp); f.limit != trace.NoReason {
		f.spent[f.limit-trace.LimitProgram] += t.ep.now.Sub(f.since)
		f.since = t.ep.now
		t.writeLimits(qp, f)
	}
}

// close records what is summed up, at the end of the endpoint.
func (t *tracer) close() {
	if t == nil {
		return
	}
	for _, qp := range t.ep.qps.slots {
		if qp != nil {
			t.flush(qp)
		}
	}
	for c := range t.classes {
		t.writePort(packet.Class(c))
	}
	t.writeNoBuffers()
}

// limitedBy returns why the queue pair does not send more now.
func (qp *QueuePair) limitedBy(portFull bool) trace.Reason {
	resends := qp.loss.isRecovering() && qp.loss.hasLost()
	switch {
	case qp.state != ReadyToSend && qp.state != SQDrained:
		return trace.LimitState
	case qp.loss.isWaitingRNR() || qp.loss.isProbing():
		return trace.LimitNotReady
	case !resends && !qp.snd.hasNext():
		if qp.snd.room() == 0 {
			return trace.LimitQueue
		}
		return trace.LimitProgram
	case qp.awaitsNeighbor:
		return trace.LimitNeighbor
	case qp.cong.isHeld():
		return trace.LimitHold
	case portFull:
		return trace.LimitPort
	case qp.adm.isBlocked():
		return trace.Limit(!qp.adm.hasTokens())
	case qp.Type == RC && !qp.hasWindowForNext(resends):
		return trace.LimitWindow
	case qp.cong.isPaced():
		return trace.LimitPace
	case !resends && qp.snd.isAtReads():
		return trace.LimitReads
	}
	return trace.LimitTurn
}

// hasWindowForNext reports whether the window admits the next packet.
func (qp *QueuePair) hasWindowForNext(resends bool) bool {
	if resends {
		return qp.loss.hasRoomAgain(qp.loss.oldestLost(), qp.mtu)
	}
	w, k := qp.snd.upcoming()
	return w.op.isLocal() || qp.loss.hasWindow(min(w.length-k<<qp.mtuShift, qp.mtu))
}

// onEvent sets the event of congestion control to which decisions respond from now on.
func (t *tracer) onEvent(kind cc.Kind) {
	if t != nil {
		t.cause = kind
	}
}

// onDecision records a decision of congestion control: those after rare events, those after sampled
// PSNs, and each that differs by more than a quarter from the last one recorded.
func (t *tracer) onDecision(qp *QueuePair, d cc.Decision) {
	f := t.flow(qp)
	rare := t.cause != cc.ACK && t.cause != cc.ECN && t.cause != cc.RTT && t.cause != cc.TX
	if !rare && !t.ring.Samples(qp.loss.oldest()-1) && within4th(int64(d.Window),
		int64(f.window)) && within4th(int64(d.Rate), int64(f.rate)) {
		return
	}
	f.window, f.rate = d.Window, d.Rate
	ev := trace.Event{Kind: trace.Decision, Window: d.Window, Rate: d.Rate, Cause: t.cause}
	if d.Hold {
		ev.Flags = trace.Hold
	}
	if o, ok := t.ep.cc.(cc.Observer); ok {
		s := o.Snapshot(qp.cong.flowID())
		ev.Target, ev.Delay, ev.Reason = s.Target, s.Delay, trace.Cut(s.Reason)
	}
	t.record(qp, &ev)
}

// within4th reports whether v differs from w by at most a quarter.
func within4th(v, w int64) bool { return v-w <= w/4 && w-v <= w/4 }

// onCNP records a CNP that arrived or left.
func (t *tracer) onCNP(qp *QueuePair, kind trace.Kind, total uint64) {
	if t != nil {
		t.record(qp, &trace.Event{Kind: kind, Packets: total})
	}
}

// onMark records a packet that arrived with congestion experienced, one of so many.
func (t *tracer) onMark(qp *QueuePair, total uint64) {
	if psn := t.ep.pkt.PSN; t.ring.Samples(psn) {
		t.record(qp, &trace.Event{Kind: trace.MarkReceived, PSN: psn, Packets: total})
	}
}

// onGate records that the gate closed or opened, after a wait.
func (t *tracer) onGate(qp *QueuePair, kind trace.Kind, waited units.Duration) {
	if t == nil {
		return
	}
	ev := trace.Event{Kind: kind, Delay: waited}
	if kind == trace.GateClosed {
		ev.PSN, ev.Reason = qp.snd.nextPSN(), trace.Limit(!qp.adm.hasTokens())
	}
	t.record(qp, &ev)
}

// onControl records a control message of admission.
func (t *tracer) onControl(qp *QueuePair, kind trace.Kind, n *cc.ControlMessage) {
	if t == nil {
		return
	}
	ev := trace.Event{Kind: kind}
	switch n.Kind {
	case cc.RTS:
		ev.Reason, ev.Bytes = trace.RequestToSend, units.Bytes(n.Demand)
	case cc.TOKEN:
		ev.Reason, ev.Bytes = trace.Token, units.Bytes(n.Limit)
	default:
		ev.Reason, ev.Bytes = trace.Credit, units.Bytes(n.Credits)
	}
	t.record(qp, &ev)
}

// onGap records that the endpoint was not polled for a while.
func (t *tracer) onGap(gap units.Duration) {
	stalled := t.ep.now.Add(-gap).Before(t.ep.responseWait.until)
	if gap >= idleGap || stalled && gap >= minTracedGap {
		t.ring.Record(&trace.Event{At: t.ep.now, Kind: trace.Away, Delay: gap})
	}
}

// onFlush records whether the port accepted a whole burst of a class.
func (t *tracer) onFlush(c packet.Class, full bool) {
	p, now := &t.classes[c], t.ep.now
	if p.fullAt != 0 {
		p.full += now.Sub(p.fullAt)
		p.fullAt = 0
	}
	if full {
		p.times, p.fullAt = p.times+1, now
	}
	if p.times > 0 && now.Sub(p.flushed) >= summary {
		t.writePort(c)
	}
}

func (t *tracer) writePort(c packet.Class) {
	p := &t.classes[c]
	if p.times > 0 {
		t.ring.Record(&trace.Event{At: t.ep.now, Kind: trace.PortFull, Class: uint8(c),
			Count: p.times, Delay: p.full})
	}
	p.times, p.full, p.flushed = 0, 0, t.ep.now
}

// onNoBuffer records that the port had no buffer.
func (t *tracer) onNoBuffer() {
	if t == nil {
		return
	}
	if t.noBuffers++; t.ep.now.Sub(t.bufferAt) >= summary {
		t.writeNoBuffers()
	}
}

func (t *tracer) writeNoBuffers() {
	if t.noBuffers > 0 {
		t.ring.Record(&trace.Event{At: t.ep.now, Kind: trace.NoBuffers, Count: t.noBuffers})
	}
	t.noBuffers, t.bufferAt = 0, t.ep.now
}
