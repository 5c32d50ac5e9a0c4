package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ackEcho is what a queue pair echoes to its peer and gets echoed. Marks on the peer's requests are
// echoed to the peer: as a count in each ACK if it agreed to that, as CNPs otherwise. Marks on our
// own packets are reported to congestion control. A queue pair borrows an ackEcho when there is
// first something to echo.
type ackEcho struct {
	seen  uint32     // marks on the peer's requests
	cnp   bool       // a CNP is due
	cnpAt units.Time // when the next one may leave

	timed wire.PSN // the newest of the peer's packets that asked for its residence time
	ttl   uint8    // its TTL on arrival
	asked bool     // the next ACK must report it
	came  presence // when it arrived

	telemetry *telemetry // of the peer's packets
	bolt      *bolt
	probe     probed

	echoed uint32 // marks on our requests, as the peer has echoed them
	news   uint32 // marks on our requests and on responses to us, not reported yet
}

// onMarked handles a request that arrived marked.
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

// onMarkedResponse handles a response that arrived marked: our congestion control is responsible
// for its path.
func (cong *congestion) onMarkedResponse() {
	cong.countMark()
	cong.ackEcho().news++
}

// onMarksEchoed applies the peer's count of our requests that arrived marked. An ACK that was
// overtaken by a newer one has a lower count, which is ignored.
func (cong *congestion) onMarksEchoed(all uint32) {
	m := cong.ackEcho()
	if news := int32(all - m.echoed); news > 0 {
		m.echoed = all
		m.news += uint32(news)
	}
}

// takeNewMarks returns how many of the packets that are now acknowledged were marked.
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

// sendCNP notifies the peer that its packets meet congestion (annex A17.9.3). It returns false when
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

// echoLen returns how many bytes of TLVs an ACK needs to echo marks.
func (cong *congestion) echoLen() int {
	if cong.cold().echo == nil || cong.cold().echo.seen == 0 || !cong.ecnEcho {
		return 0
	}
	return extension.ECNEchoLen
}
