package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ackEcho is what a queue pair echoes to its peer and gets echoed. Marks on the peer's requests are
// echoed to the peer: as a count in each ACK if it agreed to that, as CNPs otherwise. Marks on our
// own packets are reported to congestion control. A queue pair borrows an ackEcho when there is
// first something to echo.
type ackEcho struct {
	marks uint32     // marks on the peer's requests
	cnp   bool       // a CNP is due
	cnpAt units.Time // when the next one may leave

	timedPSN  wire.PSN // the newest of the peer's packets that asked for its residence time
	ttl       uint8    // its TTL on arrival
	timingDue bool     // the next ACK must report it
	arrival   arrival  // when it arrived

	telemetry *telemetry // of the peer's packets
	bolt      *bolt
	probe     receivedProbe

	echoed   uint32 // marks on our requests, as the peer has echoed them
	newMarks uint32 // marks on our requests and on responses to us, not reported yet
}

// onMarked handles a request that arrived marked.
func (cong *congestion) onMarked(now units.Time) {
	qp := cong.conn()
	e, m := qp.ep, cong.ackEcho()
	cong.countMark()
	m.marks++
	if !cong.ecnEcho && !now.Before(m.cnpAt) {
		m.cnpAt, m.cnp = now.Add(e.cnpInterval), true
		e.scheduleResponses(qp)
	}
}

// onMarkedResponse handles a response that arrived marked: our congestion control is responsible
// for its path.
func (cong *congestion) onMarkedResponse() {
	cong.countMark()
	cong.ackEcho().newMarks++
}

// onMarksEchoed applies the peer's count of our requests that arrived marked. An ACK that was
// overtaken by a newer one has a lower count, which is ignored.
func (cong *congestion) onMarksEchoed(marked uint32) {
	m := cong.ackEcho()
	if increase := int32(marked - m.echoed); increase > 0 {
		m.echoed = marked
		m.newMarks += uint32(increase)
	}
}

// takeNewMarks returns how many of the packets that are now acknowledged were marked.
func (cong *congestion) takeNewMarks(packets uint32) (n uint32) {
	if m := cong.cold().echo; m != nil {
		n, m.newMarks = min(m.newMarks, packets), 0
	}
	return n
}

func (cong *congestion) ackEcho() *ackEcho {
	qp := cong.conn()
	if cong.cold().echo == nil {
		cong.cold().echo = qp.ep.ackEchoes.get()
		*cong.cold().echo = ackEcho{}
	}
	return cong.cold().echo
}

func (cong *congestion) dropAckEcho() {
	qp := cong.conn()
	if cong.cold().echo != nil {
		if t := cong.cold().echo.telemetry; t != nil {
			qp.ep.telemetries.put(t)
		}
		if b := cong.cold().echo.bolt; b != nil {
			qp.ep.bolts.put(b)
		}
		qp.ep.ackEchoes.put(cong.cold().echo)
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
	e.trace.onCNP(qp, trace.CNPSent, 0)
	return true
}

// echoLen returns how many bytes of TLVs an ACK needs to echo marks.
func (cong *congestion) echoLen() int {
	if cong.cold().echo == nil || cong.cold().echo.marks == 0 || !cong.ecnEcho {
		return 0
	}
	return extension.ECNEchoLen
}

// receiveCNP handles a congestion notification packet (annex A17.9.3).
func (cong *congestion) receiveCNP(p *wire.Packet) {
	qp := cong.conn()
	e := qp.ep
	switch {
	case qp.Type == UD || !qp.isReceiving():
		e.counters.DropState++
	case !p.SrcIs(&qp.tmpl):
		e.counters.DropPeer++
	case !samePartition(p.PKey, qp.pkey):
		e.counters.DropPKey++
	default:
		e.counters.CNPs++
		cong.cold().cnps++
		e.trace.onCNP(qp, trace.CNPReceived, cong.cold().cnps)
		cong.report(cc.Event{Kind: cc.CNP, PSN: uint32(qp.loss.oldest())}, e.now)
	}
}
