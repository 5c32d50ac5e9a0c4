package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// marks is what a queue pair knows of congestion marks. Of those that came with its peer's requests
// the peer is told: one that agreed to it hears their number with each ACK, any other one gets
// CNPs. Those on our own packets our congestion control hears of. A queue pair has none before the
// first.
type marks struct {
	seen  uint32     // on the peer's requests
	cnp   bool       // a CNP is owed
	cnpAt units.Time // when the next one may leave

	timed wire.PSN // the newest of the peer's packets that asked how long it was here
	ttl   uint8    // that it came with
	asked bool     // the next ACK shall tell
	came  presence // when it did

	telemetry *telemetry // of the peer's packets
	bolt      *bolt
	probe     probed

	echoed uint32 // on our requests, as the peer has told
	news   uint32 // on what we sent or asked for, not yet reported
}

// marked takes note of a request that came with a mark.
func (qp *QueuePair) marked(now units.Time) {
	e, m := qp.ep, qp.beginMarks()
	e.counters.MarkedCE++
	qp.stats.MarkedCE++
	m.seen++
	if !qp.ecnEcho && !now.Before(m.cnpAt) {
		m.cnpAt, m.cnp = now.Add(e.cnpInterval), true
		e.owe(qp)
	}
}

// markedResponse takes note of a response that came with a mark: its way is ours to control.
func (qp *QueuePair) markedResponse() {
	qp.ep.counters.MarkedCE++
	qp.stats.MarkedCE++
	qp.beginMarks().news++
}

// hearMarks takes in how many of our requests the peer says came with a mark, all told. An ACK that
// was overtaken by a newer one says less.
func (qp *QueuePair) hearMarks(all uint32) {
	m := qp.beginMarks()
	if news := int32(all - m.echoed); news > 0 {
		m.echoed = all
		m.news += uint32(news)
	}
}

// newMarks answers how many of the packets now acknowledged were marked.
func (qp *QueuePair) newMarks(packets uint32) (n uint32) {
	if m := qp.marks; m != nil {
		n, m.news = min(m.news, packets), 0
	}
	return n
}

func (qp *QueuePair) beginMarks() *marks {
	if qp.marks == nil {
		qp.marks = qp.ep.marks.borrow()
		*qp.marks = marks{}
	}
	return qp.marks
}

func (qp *QueuePair) dropMarks() {
	if qp.marks != nil {
		if t := qp.marks.telemetry; t != nil {
			qp.ep.telemetries.giveBack(t)
		}
		if b := qp.marks.bolt; b != nil {
			qp.ep.bolts.giveBack(b)
		}
		qp.ep.marks.giveBack(qp.marks)
		qp.marks = nil
	}
}

// owesCNP says whether a CNP is due.
func (qp *QueuePair) owesCNP() bool { return qp.marks != nil && qp.marks.cnp }

// sendCNP tells the peer that its packets meet congestion (annex A17.9.3). It answers false when
// the port has no room.
func (qp *QueuePair) sendCNP() bool {
	e := qp.ep
	b := e.frame(packet.ClassControl)
	if b == nil {
		return false
	}
	frame := b.Room()
	ext, total := qp.tmpl.Build(frame, wire.Fields{Op: wire.CNP, Flags: wire.BECN}, 0)
	frame = frame[:total]
	clear(frame[ext : ext+wire.CNPLen])
	qp.tmpl.SetFrameTOS(frame, qp.resp.tos)
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassControl)
	qp.marks.cnp = false
	e.counters.CNPsSent++
	return true
}

// echoLen is how many bytes of TLVs an ACK needs to tell of marks.
func (qp *QueuePair) echoLen() int {
	if qp.marks == nil || qp.marks.seen == 0 || !qp.ecnEcho {
		return 0
	}
	return wire.ECNEchoLen
}
