package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ackEcho is what a queue pair knows of congestion marks. Of those that came with its peer's
// requests
// the peer is told: one that agreed to it hears their number with each ACK, any other one gets
// CNPs. Those on our own packets our congestion control hears of. A queue pair has none before the
// first.
type ackEcho struct {
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

// onMarked takes note of a request that came with a mark.
func (cong *congestion) onMarked(now units.Time) {
	qp := cong.conn()
	e, m := qp.ep, cong.ackEcho()
	cong.countMark()
	m.seen++
	if !cong.ecnEcho && !now.Before(m.cnpAt) {
		m.cnpAt, m.cnp = now.Add(e.cnpInterval), true
		e.scheduleAnswer(qp)
	}
}

// onMarkedResponse takes note of a response that came with a mark: its way is ours to control.
func (cong *congestion) onMarkedResponse() {
	cong.countMark()
	cong.ackEcho().news++
}

// onMarksEchoed takes in how many of our requests the peer says came with a mark, all told. An ACK
// that
// was overtaken by a newer one says less.
func (cong *congestion) onMarksEchoed(all uint32) {
	m := cong.ackEcho()
	if news := int32(all - m.echoed); news > 0 {
		m.echoed = all
		m.news += uint32(news)
	}
}

// takeNewMarks returns how many of the packets now acknowledged were marked.
func (cong *congestion) takeNewMarks(packets uint32) (n uint32) {
	if m := cong.cold().echo; m != nil {
		n, m.news = min(m.news, packets), 0
	}
	return n
}

func (cong *congestion) ackEcho() *ackEcho {
	qp := cong.conn()
	if cong.cold().echo == nil {
		cong.cold().echo = qp.ep.ackEchoes.borrow()
		*cong.cold().echo = ackEcho{}
	}
	return cong.cold().echo
}

func (cong *congestion) dropAckEcho() {
	qp := cong.conn()
	if cong.cold().echo != nil {
		if t := cong.cold().echo.telemetry; t != nil {
			qp.ep.telemetries.giveBack(t)
		}
		if b := cong.cold().echo.bolt; b != nil {
			qp.ep.bolts.giveBack(b)
		}
		qp.ep.ackEchoes.giveBack(cong.cold().echo)
		cong.cold().echo = nil
	}
}

// hasCNP reports whether a CNP is due.
func (cong *congestion) hasCNP() bool { return cong.cold().echo != nil && cong.cold().echo.cnp }

// sendCNP tells the peer that its packets meet congestion (annex A17.9.3). It returns false when
// the port has no room.
func (cong *congestion) sendCNP() bool {
	qp := cong.conn()
	e := qp.ep
	b := e.frame(packet.ClassControl)
	if b == nil {
		return false
	}
	frame := b.Room()
	ext, total := qp.tmpl.Build(frame, wire.Fields{Op: wire.CNP, Flags: wire.BECN}, 0)
	frame = frame[:total]
	clear(frame[ext : total-wire.ICRCLen])
	qp.tmpl.SetFrameTOS(frame, qp.rcv.ackTOS())
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassControl)
	cong.cold().echo.cnp = false
	e.counters.CNPsSent++
	return true
}

// echoLen is how many bytes of TLVs an ACK needs to tell of marks.
func (cong *congestion) echoLen() int {
	if cong.cold().echo == nil || cong.cold().echo.seen == 0 || !cong.ecnEcho {
		return 0
	}
	return extension.ECNEchoLen
}
