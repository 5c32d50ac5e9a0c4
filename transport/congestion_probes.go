package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// prober is a queue pair's state of the probe that its congestion control requested: a packet that
// takes the path of the data, waits in the same queues and is answered, while the flow itself may
// be stopped.
//
// Between endpoints that agreed to it (docs/wire.md) that is a PROBE. To any other peer it is a
// zero-length WRITE with the PSN of the last acknowledged packet: a duplicate, which the responder
// acknowledges and does not execute (InfiniBand spec 9.7.5.1.2). So it needs no PSN, no right to
// write and no memory, may be sent inside a message, and its loss does no harm. Its ACK looks like
// any other. Therefore such a probe leaves when nothing is in flight, and an ACK that arrives while
// nothing else is in flight is its answer.
//
// At most one probe is outstanding. A queue pair borrows a prober from the first probe that its
// algorithm requests to the last.
type prober struct {
	asked     units.Time // the time last requested; 0: none
	at        units.Time // when the next probe leaves; 0: none requested, or due
	due       bool       // it leaves as soon as possible
	seq       uint8      // of the newest probe sent
	leftAt    units.Time // when that left; 0: it is not outstanding
	departure uint32     // the endpoint's departure in which it left
	lostAt    units.Time // when it counts as lost; 0: never
	// when the first of the probes left that had no answer since; 0: the newest had, or none left
	silent units.Time
	lost   uint32 // how many of these were lost
}

// requestProbe applies the time at which congestion control requests a probe.
func (cong *congestion) requestProbe(at units.Time) {
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

// restProber gives the prober back when no probe is requested or outstanding.
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

// probeTimer handles what is due of a probe.
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
// answer for as long as all retransmissions of a packet take. Nothing else would end such a flow:
// its packets wait.
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

// probeEnded lets the next probe leave, or gives the prober back, when a probe is no longer
// outstanding.
func (cong *congestion) probeEnded() {
	if cong.probing {
		cong.scheduleDueProbe()
		cong.restProber()
	}
}

// earliest returns the earlier of t and the prober's next deadline; 0 means never.
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

// isDrained reports whether nothing is in flight that the peer would acknowledge: everything has
// been acknowledged, or counts as lost.
func (loss *lossRecovery) isDrained() bool {
	qp := loss.conn()
	return loss.una == loss.sndMax || qp.snd.nextPSN() == loss.una || loss.recovery != nil &&
		loss.inFlight == 0
}

// scheduleDueProbe schedules a probe that waited until nothing was in flight.
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

// receiveProbe records a probe of the peer, to be answered.
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

// probeReach is how far the PSN of a control packet may be from the PSN that it refers to.
const probeReach = 1 << 16

// plausible reports whether psn is within probeReach of near.
func plausible(psn, near wire.PSN) bool {
	d := psn.Sub(near)
	return -probeReach <= d && d <= probeReach
}

// probed is the peer's newest probe.
type probed struct {
	field    [extension.ProbeLen]byte
	ttl, tos uint8
	here     bool // not answered yet
	came     presence
	next     units.Time // when another one may be answered
}

// probeInterval is the least time between two probes that a queue pair acknowledges: 64 of them are
// 8.2 µs, a short round trip.
const probeInterval = 128 * units.Nanosecond

// hasProbeToAnswer reports whether a probe of the peer is to be answered.
func (cong *congestion) hasProbeToAnswer() bool {
	return cong.cold().echo != nil && cong.cold().echo.probe.here
}

// sendProbeAck acknowledges the peer's probe. It returns false when the port has no room.
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

// receiveProbeAck handles the answer to our probe.
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

// probeStamp returns t as the field of a probe has it.
func probeStamp(t units.Time) units.Duration {
	return t.Sub(0) / units.Nanosecond & (1<<48 - 1) * units.Nanosecond
}

// probeAnswered reports to congestion control how long a probe took. The echo is nil from a peer
// without the extension.
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
	} else { // the peer does not report its part
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

// isProbeAnswer reports whether an ACK or NAK is a peer's answer to a probe without the extension,
// and handles it as such. Once data has left behind the probe, the acknowledgements cannot be told
// apart, and need not be: acknowledgements of data are samples.
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
