package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// prober is what a queue pair knows of the probe that its congestion control asked for: a packet
// that goes the way of the data, waits in the same queues and is answered, while the flow itself
// may be stopped.
//
// Between ours, who agreed to it (docs/wire.md), that is a PROBE. To anybody else it is a
// zero-length WRITE with the PSN of the last packet that was acknowledged: a duplicate, which the
// responder acknowledges and does not execute (InfiniBand spec 9.7.5.1.2). So it needs no PSN, no
// right to write and no memory, may stand inside a message, and to lose it is to lose nothing. Its
// ACK says nothing that tells it from others; so it leaves when nothing is under way, and what is
// acknowledged while nothing else is, is the probe.
//
// One is out at a time. A queue pair borrows a prober from the first that its algorithm asks for to
// the last.
type prober struct {
	asked     units.Time // the moment that was last asked for; 0: none
	at        units.Time // when the next one leaves; 0: none, or it is due
	due       bool       // it leaves as soon as it may
	seq       uint8      // of the newest that left
	leftAt    units.Time // when it did; 0: it is not out
	departure uint32     // in which it did
	lostAt    units.Time // when it counts as lost; 0: never
	// when the first left that has had no answer since; 0: the newest has, or none left
	silent units.Time
	lost   uint32 // how many have had none since
}

// askProbe takes over when congestion control wants a probe to leave.
func (cong *congestion) askProbe(at units.Time) {
	qp := cong.conn()
	p := cong.cold().prober
	if p == nil {
		if at == 0 || qp.Type != RC || qp.state != ReadyToSend && qp.state != SQDrained {
			return
		}
		p = qp.ep.probers.borrow()
		*p = prober{}
		cong.cold().prober, cong.probing = p, true
	}
	if at == p.asked {
		return
	}
	p.asked, p.at, p.due = at, at, false
	qp.setTimer()
	cong.restProber()
}

// restProber gives the prober back when none is asked for and none is out.
func (cong *congestion) restProber() {
	if p := cong.cold().prober; p.asked == 0 && p.leftAt == 0 {
		cong.dropProber()
	}
}

func (cong *congestion) dropProber() {
	qp := cong.conn()
	if cong.probing {
		qp.ep.probers.giveBack(cong.cold().prober)
		cong.cold().prober, cong.probing = nil, false
	}
}

// probeTimer does what is due of a probe.
func (cong *congestion) probeTimer(now units.Time) {
	qp := cong.conn()
	p := cong.cold().prober
	if p.at != 0 && !p.at.After(now) {
		p.at, p.due = 0, true
		qp.ep.scheduleAnswer(qp)
	}
	if p.leftAt != 0 && p.lostAt != 0 && !p.lostAt.After(now) {
		p.leftAt, p.lostAt = 0, 0
		qp.ep.counters.ProbesLost++
		if p.lost++; cong.peerIsGone(now) {
			qp.ep.counters.RetriesExceeded++
			qp.failHead(StatusRetryExcErr)
			return
		}
		if cong.events.Has(cc.RTO) {
			cong.report(cc.Event{Kind: cc.RTO, PSN: uint32(qp.loss.oldest()), Probe: true}, now)
		}
		cong.probeEnded()
	}
}

// peerIsGone reports whether a flow that only probes, though it has something to send, has had no
// answer for as long as it takes to send a packet again as often as may be. Nothing else would end
// it: its packets wait.
func (cong *congestion) peerIsGone(now units.Time) bool {
	qp := cong.conn()
	p := cong.cold().prober
	if qp.snd.isIdle() { // nothing waits
		p.silent, p.lost = 0, 0
		return false
	}
	return qp.loss.isDrained() && qp.loss.mayGiveUp(p.lost) &&
		now.Sub(p.silent) >= max(gatePatience, qp.loss.patienceInAll())
}

// probeEnded lets the next probe leave, or the prober go, when one is not out any more.
func (cong *congestion) probeEnded() {
	if cong.probing {
		cong.scheduleDueProbe()
		cong.restProber()
	}
}

// earliest returns t, or when something is to be done about a probe if that is earlier; 0 is never.
func (p *prober) earliest(t units.Time) units.Time {
	for _, own := range [...]units.Time{p.at, p.lostAt} {
		if own != 0 && (t == 0 || own.Before(t)) {
			t = own
		}
	}
	return t
}

// mayProbe reports whether a probe is due and may leave now.
func (cong *congestion) mayProbe() bool {
	qp := cong.conn()
	if !cong.probing {
		return false
	}
	p := cong.cold().prober
	return p.due && (cong.cold().probes || p.leftAt == 0 && qp.loss.isDrained()) &&
		(qp.state == ReadyToSend || qp.state == SQDrained)
}

// isDrained reports whether nothing is under way that the peer would acknowledge: all has been
// acknowledged, or counts as lost.
func (loss *lossRecovery) isDrained() bool {
	qp := loss.conn()
	return loss.una == loss.sndMax || qp.snd.nextPSN() == loss.una || loss.recovery != nil &&
		loss.inFlight == 0
}

// scheduleDueProbe gives a probe its turn that waited for what was under way.
func (cong *congestion) scheduleDueProbe() {
	qp := cong.conn()
	if cong.mayProbe() {
		qp.ep.scheduleAnswer(qp)
	}
}

// sendProbe sends the probe that is due. It returns false when the port has no room.
func (cong *congestion) sendProbe(now units.Time) bool {
	qp := cong.conn()
	e, p := qp.ep, cong.cold().prober
	b := e.frame(qp.class) // behind the data
	if b == nil {
		return false
	}
	room := b.Room()
	var total, ext int
	if cong.cold().probes {
		ext, total = qp.tmpl.Build(room, wire.Fields{Op: wire.Probe, PSN: qp.snd.nextPSN()}, 0)
		wire.View[wire.XCH](room[ext:]).Set(qp.sendTag, 0)
		extension.ProbeField(room[ext+wire.XCHLen:][:extension.ProbeLen]).Set(extension.ProbeAlone,
			p.seq+1, now)
	} else {
		ext, total = qp.tmpl.Build(room, wire.Fields{Op: wire.RCWriteOnly, Flags: wire.AckReq,
			PSN: qp.loss.oldest().Add(wire.PSNMask)}, 0)
		wire.View[wire.RETH](room[ext:]).Set(0, 0, 0)
	}
	qp.tmpl.Seal(room[:total])
	b.SetLen(total)
	e.push(qp.class)
	e.counters.ProbesSent++
	if p.silent == 0 {
		p.silent = now
	}
	p.due, p.leftAt, p.lostAt, p.departure = false, now, 0, e.rounds.departure()
	p.seq++
	e.stake.ask(now)
	if rto := qp.loss.shortTimeout(); rto != units.Forever {
		p.lostAt = now.Add(rto)
	}
	qp.setTimer()
	return true
}

// receiveProbe notes a probe of the peer's, to be answered.
func (cong *congestion) receiveProbe(p *wire.Packet) {
	qp := cong.conn()
	e := qp.ep
	m := cong.ackEcho()
	switch {
	case extension.ProbeField(p.Body()).Mode() != extension.ProbeAlone || !plausible(p.PSN,
		qp.rcv.expected()):
		e.counters.DropProbe++
	case e.now.Before(m.probe.next):
		e.counters.DropProbeRate++
	default:
		copy(m.probe.field[:], extension.ProbeField(p.Body()))
		m.probe.ttl, m.probe.tos, m.probe.came, m.probe.here = p.TTL(), p.TOS(), e.arrived, true
		e.scheduleAnswer(qp)
	}
}

// probeReach is how far a PSN of a control packet may be from the one that it speaks of.
const probeReach = 1 << 16

func plausible(psn, near wire.PSN) bool {
	d := psn.Sub(near)
	return -probeReach <= d && d <= probeReach
}

// probed is the newest probe of the peer's.
type probed struct {
	field    [extension.ProbeLen]byte
	ttl, tos uint8
	here     bool // and not yet answered
	came     presence
	next     units.Time // when another one may be answered
}

// probeInterval is how often a queue pair answers probes, at most: 64 in 8.2 µs, a short round
// trip.
const probeInterval = 128 * units.Nanosecond

// hasProbeToAnswer reports whether a probe waits for its answer.
func (cong *congestion) hasProbeToAnswer() bool {
	return cong.cold().echo != nil && cong.cold().echo.probe.here
}

// sendProbeAck returns a probe. It returns false when the port has no room.
func (cong *congestion) sendProbeAck() bool {
	qp := cong.conn()
	e, m := qp.ep, &cong.cold().echo.probe
	b := e.frame(packet.ClassAck)
	if b == nil {
		return false
	}
	room := b.Room()
	ext, total := qp.tmpl.Build(room,
		wire.Fields{Op: wire.ProbeAck, PSN: qp.rcv.expected().Add(wire.PSNMask)}, 0)
	frame := room[:total]
	wire.View[wire.XCH](frame[ext:]).Set(qp.sendTag, 0)
	echo := extension.ProbeEcho(frame[ext+wire.XCHLen:][:extension.ProbeEchoLen])
	echo.Set(m.field[:], e.now.Sub(m.came.at), m.came.at, m.ttl, m.tos)
	echo.SetGap(m.came.gap)
	qp.tmpl.SetFrameTOS(frame, qp.rcv.ackTOS())
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassAck)
	m.here, m.next = false, e.now.Add(probeInterval)
	e.counters.ProbesAnswered++
	return true
}

// receiveProbeAck takes in the answer to a probe of ours.
func (cong *congestion) receiveProbeAck(p *wire.Packet) {
	qp := cong.conn()
	e, echo := qp.ep, extension.ProbeEcho(p.Body())
	f, out := echo.Field(), cong.cold().prober
	switch {
	case qp.state != ReadyToSend && qp.state != SQDrained:
		e.counters.DropState++
	case f.Mode() != extension.ProbeResponse || !plausible(p.PSN, qp.loss.oldest()) ||
		!p.PSN.Before(qp.loss.highest()):
		e.counters.DropProbe++
	case out == nil || out.leftAt == 0 || f.Seq() != out.seq || f.Left() != probeStamp(out.leftAt):
		e.counters.DropStaleProbe++
	default:
		cong.probeAnswered(echo)
	}
}

// probeStamp is a moment as a probe field tells it.
func probeStamp(t units.Time) units.Duration {
	return t.Sub(0) / units.Nanosecond & (1<<48 - 1) * units.Nanosecond
}

// probeAnswered tells congestion control how long a probe took. Toward a peer without the extension
// there is no echo.
func (cong *congestion) probeAnswered(echo extension.ProbeEcho) {
	qp := cong.conn()
	e, p := qp.ep, cong.cold().prober
	ev := cc.Event{Kind: cc.RTT, PSN: uint32(qp.loss.oldest()), Probe: true,
		Delay: e.now.Sub(p.leftAt)}
	h := e.here(p.departure)
	if echo != nil {
		if h.there(echo.Residence(), echo.Gap(), 0); h.endpoint <= ev.Delay {
			ev.OneWay, ev.Hops = oneWay(p.leftAt, echo.Arrived()), max(0,
				int(qp.tmpl.TTL())-int(echo.TTL()))
		} else {
			e.counters.BadTiming++
			h.endpoint = 0
		}
	} else { // the peer does not tell its part
		h.endpoint = 0
	}
	h.fill(&ev)
	p.leftAt, p.lostAt, p.silent, p.lost = 0, 0, 0, 0
	e.counters.ProbeAnswers++
	qp.setTimer()
	if cong.events.Has(cc.RTT) {
		cong.report(ev, e.now)
	}
	cong.probeEnded()
}

// isProbeAnswer reports whether an ACK or NAK is what a peer without the extension answers to a
// probe,
// and takes it as that. Once data has left behind the probe nobody can say any more, and need not:
// its acknowledgements are samples.
func (cong *congestion) isProbeAnswer() bool {
	qp := cong.conn()
	p := cong.cold().prober
	if p.leftAt == 0 || cong.cold().probes {
		return false
	}
	if !qp.loss.isDrained() {
		p.leftAt, p.lostAt, p.silent, p.lost = 0, 0, 0, 0
		qp.setTimer()
		cong.probeEnded()
		return false
	}
	cong.probeAnswered(nil)
	return true
}
