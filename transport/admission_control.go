package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Control messages of gates and granters as frames: RTS and TOKEN (docs/wire.md). CREDIT is in
// admission_credits.go.

// sendGateControl sends the gate's control message. It returns false when the port has no room.
func (a *admission) sendGateControl() bool {
	qp := a.qp
	e := qp.ep
	class, b, dataBuf := packet.ClassAck, e.frame(packet.ClassAck), e.frame(qp.class)
	if b == nil || dataBuf == nil {
		return false
	}
	n, ok := a.gate.Emit(a.backlog(), e.now)
	if !ok {
		qp.setTimer()
		return true
	}
	if n.Kind == cc.CREDIT {
		a.buildCredit(b, &n, qp.snd.nextPSN())
		e.counters.CreditsAsked++
		qp.setTimer()
		return true
	}
	flags := rtsFlags(n.Flags)
	if n.WithData {
		class, b, flags = qp.class, dataBuf, flags|extension.RTSBehind
	}
	room := b.Room()
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: wire.RTS, PSN: qp.snd.nextPSN()}, 0)
	frame := room[:total]
	wire.View[wire.XCH](frame[ext:]).Set(qp.sendTag, 0)
	rts := extension.RTS(frame[ext+wire.XCHLen:][:extension.RTSLen])
	rts.Set(n.Demand, n.Spent, n.CE, n.Seq, flags)
	rts.SetDiscarded(n.Discarded)
	a.pushControl(b, frame, class, &n)
	e.counters.RTSSent++
	qp.setTimer()
	return true
}

// pushControl queues the frame of control message n, which is built in b, for transmission.
func (a *admission) pushControl(b *packet.Buf, frame []byte, class packet.Class,
	n *cc.ControlMessage) {
	qp := a.qp
	tos := qp.rcv.ackTOS()
	switch {
	case n.Classed:
		tos = n.TrafficClass
	case n.WithData:
		tos = qp.tmpl.TOS()
	}
	qp.tmpl.SetFrameTOS(frame, tos)
	qp.tmpl.Seal(frame)
	b.SetLen(len(frame))
	qp.ep.push(class)
	qp.ep.trace.onControl(qp, trace.ControlSent, n)
}

// sendToken builds a TOKEN into b. It returns how many bytes the TOKEN and the data that it
// releases take on the link.
func (a *admission) sendToken(b *packet.Buf, n *cc.ControlMessage) units.Bytes {
	qp := a.qp
	e := qp.ep
	var ranges []extension.Range
	flags := tokenFlags(n.Flags)
	if n.Missing {
		trimmed := false
		if ranges, trimmed = a.missingRanges(); trimmed {
			flags |= extension.TokenTrimmed
		}
	}
	room := b.Room()
	ext, total := qp.tmpl.Build(room,
		wire.Fields{Op: wire.Token, PSN: qp.rcv.expected().Add(wire.PSNMask)},
		extension.RangeLen*len(ranges))
	frame := room[:total]
	wire.View[wire.XCH](frame[ext:]).Set(qp.sendTag, 0)
	t := extension.Token(frame[ext+wire.XCHLen : total-wire.ICRCLen])
	t.Set(n.Limit, n.Seq, len(ranges), flags, n.Priority)
	for i, r := range ranges {
		t.SetRange(i, r)
	}
	a.pushControl(b, frame, packet.ClassControl, n)
	e.counters.TokensSent++
	return n.Releases + units.Bytes(total) + wireExtra
}

// wireExtra is what a frame takes on a link besides its bytes: check sequence, preamble and gap.
const wireExtra = 24

// receiveControl handles an RTS or a TOKEN. One that the peer should not send has no effect.
func (a *admission) receiveControl(p *wire.Packet) {
	qp := a.qp
	e, now := qp.ep, qp.ep.now
	switch {
	case p.Op == wire.RTS && !plausible(p.PSN, qp.rcv.expected()),
		p.Op == wire.Token && (!plausible(p.PSN, qp.loss.oldest()) ||
			!p.PSN.Before(qp.loss.highest())):
		e.counters.DropNotice++
	case p.Op == wire.RTS && a.granter != nil:
		a.receiveRTS(p, now)
	case p.Op == wire.Token && a.gate != nil && (qp.state == ReadyToSend || qp.state == SQDrained):
		a.receiveToken(p, now)
	default:
		e.counters.DropState++
	}
}

func (a *admission) receiveRTS(p *wire.Packet, now units.Time) {
	qp := a.qp
	h := extension.RTS(p.Body())
	a.received = cc.ControlMessage{
		Kind: cc.RTS, Flags: rtsControlFlags(h.Flags()), Demand: h.Demand(), Spent: h.Spent(),
		Discarded: h.Discarded(), CE: h.CE(), Seq: h.Seq(),
		Congested: p.ECN == wire.ECNCE,
	}
	qp.ep.trace.onControl(qp, trace.ControlReceived, &a.received)
	if err := a.granter.Receive(&a.received, now); err != nil {
		qp.ep.counters.DropNotice++
		return
	}
	qp.ep.counters.RTSHeard++
	a.rtsPSN = p.PSN
	if h.Flags()&extension.RTSBehind != 0 {
		a.onPeerSent(p.PSN, now)
		// The data before it may have asked for no ACK, and the sender may have no timeout.
		qp.rcv.scheduleAck(ackPositive, 0)
	}
	a.scheduleGranter(now)
}

func (a *admission) receiveToken(p *wire.Packet, now units.Time) {
	qp := a.qp
	t := extension.Token(p.Body())
	a.received = cc.ControlMessage{
		Kind: cc.TOKEN, Flags: tokenControlFlags(t.Flags()), Limit: t.Limit(), Seq: t.Seq(),
		Priority:  t.Priority(),
		Congested: p.ECN == wire.ECNCE, Gap: qp.ep.arrived.activeGap(),
	}
	if end := p.PSN.Add(1); a.reads == 0 && end.After(qp.loss.oldest()) &&
		!qp.loss.acknowledge(end, &ackInfo{now: now}) {
		return
	}
	// before the gate gets the tokens: they are meant for the lost packets, which must wait for
	// them
	if t.Ranges() > 0 {
		qp.loss.onLossReport(t)
	}
	if a.detached { // the loss report ended the queue pair
		return
	}
	qp.ep.trace.onControl(qp, trace.ControlReceived, &a.received)
	if err := a.gate.Receive(&a.received, a.backlog(), now); err != nil {
		qp.ep.counters.DropNotice++
		return
	}
	qp.ep.counters.TokensHeard++
	a.lastPeerActivity = now
	a.scheduleGate()
	qp.ep.scheduleRequests(qp)
}

// The wire's flags have the values of cc's flags, except RTSBehind and TokenTrimmed.

func rtsFlags(f cc.ControlFlags) extension.RTSFlags {
	return extension.RTSFlags(f & (cc.FlagRepeat | cc.FlagUnscheduled | cc.FlagReply |
		cc.FlagEnd | cc.FlagAgain))
}

func tokenFlags(f cc.ControlFlags) extension.TokenFlags {
	return extension.TokenFlags(f & (cc.FlagRepeat | cc.FlagQuery | cc.FlagSingle))
}

func rtsControlFlags(f extension.RTSFlags) cc.ControlFlags {
	return cc.ControlFlags(f &^ extension.RTSBehind)
}

func tokenControlFlags(f extension.TokenFlags) cc.ControlFlags {
	return cc.ControlFlags(f &^ extension.TokenTrimmed)
}
