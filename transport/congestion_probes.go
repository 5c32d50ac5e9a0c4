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
// nothing else is in flight is taken as its response.
//
// At most one probe is outstanding. A queue pair borrows a prober from the first probe that its
// algorithm requests to the last.
type prober struct {
	requestedAt units.Time // the time last requested; 0: none
	at          units.Time // when the next probe leaves; 0: none requested, or due
	due         bool       // it leaves as soon as possible
	seq         uint8      // of the newest probe sent
	sentAt      units.Time // when that left; 0: it is not outstanding
	txRound     uint32     // the endpoint's round in which it left
	lostAt      units.Time // when it counts as lost; 0: never
	// when the oldest probe since the last response was sent; 0: there was none
	unansweredSince units.Time
	lost            uint32 // how many of these were lost
}

// requestProbe applies the time at which congestion control requests a probe.
func (cong *congestion) requestProbe(at units.Time) {
	qp := cong.conn()
	p := cong.cold().prober
	if p == nil {
		if at == 0 || qp.Type != RC || qp.state != ReadyToSend && qp.state != SQDrained {
			return
		}
		p = qp.ep.probers.get()
		*p = prober{}
		cong.cold().prober, cong.probing = p, true
	}
	if at == p.requestedAt {
		return
	}
	p.requestedAt, p.at, p.due = at, at, false
	qp.setTimer()
	cong.releaseIdleProber()
}

// releaseIdleProber gives the prober back when no probe is requested or outstanding.
func (cong *congestion) releaseIdleProber() {
	if p := cong.cold().prober; p.requestedAt == 0 && p.sentAt == 0 {
		cong.dropProber()
	}
}

func (cong *congestion) dropProber() {
	qp := cong.conn()
	if cong.probing {
		qp.ep.probers.put(cong.cold().prober)
		cong.cold().prober, cong.probing = nil, false
	}
}

// onProbeTimer handles what is due of a probe.
func (cong *congestion) onProbeTimer(now units.Time) {
	qp := cong.conn()
	p := cong.cold().prober
	if p.at != 0 && !p.at.After(now) {
		p.at, p.due = 0, true
		qp.ep.scheduleResponses(qp)
	}
	if p.sentAt != 0 && p.lostAt != 0 && !p.lostAt.After(now) {
		p.sentAt, p.lostAt = 0, 0
		qp.ep.counters.ProbesLost++
		if p.lost++; cong.isPeerDead(now) {
			qp.ep.counters.RetriesExceeded++
			qp.failHead(StatusRetryExcErr)
			return
		}
		if cong.events.Has(cc.RTO) {
			cong.report(cc.Event{Kind: cc.RTO, PSN: uint32(qp.loss.oldest()), Probe: true}, now)
		}
		cong.onProbeEnded()
	}
}

// isPeerDead reports whether the peer has not responded to probes for as long as all
// retransmissions of a packet take, while the flow has something to send. Nothing else would end
// such a flow, because its packets wait.
func (cong *congestion) isPeerDead(now units.Time) bool {
	qp := cong.conn()
	p := cong.cold().prober
	if qp.snd.isIdle() { // nothing waits
		p.unansweredSince, p.lost = 0, 0
		return false
	}
	return qp.loss.isDrained() && qp.loss.isRetryExceeded(p.lost) &&
		now.Sub(p.unansweredSince) >= max(minGateTimeout, qp.loss.totalRetryTime())
}

// onProbeEnded lets the next probe leave, or gives the prober back, when a probe is no longer
// outstanding.
func (cong *congestion) onProbeEnded() {
	if cong.probing {
		cong.scheduleDueProbe()
		cong.releaseIdleProber()
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
	return p.due && (cong.cold().probes || p.sentAt == 0 && qp.loss.isDrained()) &&
		(qp.state == ReadyToSend || qp.state == SQDrained)
}

// scheduleDueProbe schedules a probe that waited until nothing was in flight.
func (cong *congestion) scheduleDueProbe() {
	qp := cong.conn()
	if cong.mayProbe() {
		qp.ep.scheduleResponses(qp)
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
	if p.unansweredSince == 0 {
		p.unansweredSince = now
	}
	p.due, p.sentAt, p.lostAt, p.txRound = false, now, 0, e.rounds.txRound()
	p.seq++
	e.responseWait.onSent(now)
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
		m.probe.ttl, m.probe.tos = p.TTL(), p.TOS()
		m.probe.arrival, m.probe.pending = e.arrived, true
		e.scheduleResponses(qp)
	}
}

// maxPSNDistance is how far the PSN of a control packet may be from the PSN that it refers to.
const maxPSNDistance = 1 << 16

// plausible reports whether psn is within maxPSNDistance of near.
func plausible(psn, near wire.PSN) bool {
	d := psn.Sub(near)
	return -maxPSNDistance <= d && d <= maxPSNDistance
}

// receivedProbe is the peer's newest probe.
type receivedProbe struct {
	field    [extension.ProbeLen]byte
	ttl, tos uint8
	pending  bool // not answered yet
	arrival  arrival
	next     units.Time // when another one may be answered
}

// probeInterval is the least time between two probes that a queue pair acknowledges: 64 of them are
// 8.2 µs, a short round trip.
const probeInterval = 128 * units.Nanosecond

// hasProbeToAck reports whether a probe of the peer is to be answered.
func (cong *congestion) hasProbeToAck() bool {
	return cong.cold().echo != nil && cong.cold().echo.probe.pending
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
	echo.Set(m.field[:], e.now.Sub(m.arrival.at), m.arrival.at, m.ttl, m.tos)
	echo.SetGap(m.arrival.gap)
	qp.tmpl.SetFrameTOS(frame, qp.rcv.ackTOS())
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassAck)
	m.pending, m.next = false, e.now.Add(probeInterval)
	e.counters.ProbesAnswered++
	return true
}

// receiveProbeAck handles a PROBE_ACK, the response to our PROBE.
func (cong *congestion) receiveProbeAck(p *wire.Packet) {
	qp := cong.conn()
	e, echo := qp.ep, extension.ProbeEcho(p.Body())
	f, own := echo.Field(), cong.cold().prober
	switch {
	case qp.state != ReadyToSend && qp.state != SQDrained:
		e.counters.DropState++
	case f.Mode() != extension.ProbeResponse || !plausible(p.PSN, qp.loss.oldest()) ||
		!p.PSN.Before(qp.loss.highest()):
		e.counters.DropProbe++
	case own == nil || own.sentAt == 0 || f.Seq() != own.seq ||
		f.Left() != probeTimestamp(own.sentAt):
		e.counters.DropStaleProbe++
	default:
		cong.onProbeResponse(echo)
	}
}

// probeTimestamp returns t as the field of a probe has it.
func probeTimestamp(t units.Time) units.Duration {
	return t.Sub(0) / units.Nanosecond & (1<<48 - 1) * units.Nanosecond
}

// onProbeResponse reports to congestion control how long a probe took. The echo is nil from a peer
// without the extension.
func (cong *congestion) onProbeResponse(echo extension.ProbeEcho) {
	qp := cong.conn()
	e, p := qp.ep, cong.cold().prober
	ev := cc.Event{Kind: cc.RTT, PSN: uint32(qp.loss.oldest()), Probe: true,
		Delay: e.now.Sub(p.sentAt)}
	h := e.localDelay(p.txRound)
	if echo != nil {
		if h.addRemote(echo.Residence(), echo.Gap(), 0); h.endpoint <= ev.Delay {
			ev.OneWay, ev.Hops = oneWay(p.sentAt, echo.Arrived()), max(0,
				int(qp.tmpl.TTL())-int(echo.TTL()))
		} else {
			e.counters.BadTiming++
			h.endpoint = 0
		}
	} else { // the peer does not report its part
		h.endpoint = 0
	}
	h.fill(&ev)
	p.sentAt, p.lostAt, p.unansweredSince, p.lost = 0, 0, 0, 0
	e.counters.ProbeAnswers++
	qp.setTimer()
	if cong.events.Has(cc.RTT) {
		cong.report(ev, e.now)
	}
	cong.onProbeEnded()
}

// isProbeResponse reports whether an ACK or NAK is the response to a probe of a peer without the
// extension. If so, it also handles it. Once data has been sent after the probe, the two kinds of
// acknowledgement cannot be distinguished. They need not be: those of data are samples, too.
func (cong *congestion) isProbeResponse() bool {
	qp := cong.conn()
	p := cong.cold().prober
	if p.sentAt == 0 || cong.cold().probes {
		return false
	}
	if !qp.loss.isDrained() {
		p.sentAt, p.lostAt, p.unansweredSince, p.lost = 0, 0, 0, 0
		qp.setTimer()
		cong.onProbeEnded()
		return false
	}
	cong.onProbeResponse(nil)
	return true
}
