package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// What a responder knows of packets that left its peer and are not here: those before one that is, and those whose
// header is.

// overtaken notes that the packets from first on, and before end, are here or were: what left before them and is not
// here is missing.
func (qp *QueuePair) overtaken(first, end wire.PSN) {
	a, packets := qp.resp.ahead, 0
	if a.seen.Before(qp.resp.ePSN) {
		a.seen = qp.resp.ePSN
	}
	for psn := a.seen; psn.Before(first); psn = psn.Add(1) {
		if !a.here.has(psn) && !a.cut.has(psn) { // of those that were cut the header told
			packets++
		}
	}
	if a.seen.Before(end) {
		a.seen = end
	}
	if packets > 0 {
		qp.miss(packets, units.Bytes(packets)*units.Bytes(qp.mtu))
	}
}

// miss tells who grants that packets of so many bytes, at most, left the peer and did not come.
func (qp *QueuePair) miss(packets int, bytes units.Bytes) {
	qp.ep.counters.Missing += uint64(packets)
}

// receiveTrimmed handles a frame that is shorter than it says: cut by a switch if it has the DSCP of such, else broken.
func (e *Endpoint) receiveTrimmed(frame []byte) {
	c, p := &e.counters, &e.pkt
	payload, err := p.ParseTrimmed(frame)
	if e.trimmedDSCP == 0 || err != nil || p.DSCP != e.trimmedDSCP {
		c.DropTruncated++
		return
	}
	qp, info := e.qps.find(p.DestQP), p.Op.Info()
	switch {
	case qp == nil:
		c.DropUnknownQP++
	case info.Transport != services[qp.Type]:
		c.DropWrongService++
	case qp.Type != RC:
		c.DropTrimmed++
	case qp.state < ReadyToReceive || qp.state == Errored:
		c.DropState++
	case !p.SrcIs(&qp.tmpl):
		c.DropPeer++
	case !samePartition(p.PKey, qp.pkey):
		c.DropPKey++
	case info.Kind != wire.Send && info.Kind != wire.Write && p.Op != wire.XDATA || !qp.selective():
		c.DropTrimmed++
	case p.Op == wire.XDATA && p.XCH().Tag() != qp.recvTag:
		c.DropTag++
	default:
		qp.receiveTrimmed(p, min(units.Bytes(payload), units.Bytes(qp.mtu)))
	}
}

// receiveTrimmed takes note of a packet of so many bytes whose header is all that came. It says nothing of the packets
// before it, which wait in the queue that it found full. That a packet is missing which was overtaken, too, is told
// once; but one whose header came before was sent again, and is missing again.
func (qp *QueuePair) receiveTrimmed(p *wire.Packet, bytes units.Bytes) {
	c, s := &qp.ep.counters, &qp.resp
	if p.PSN.Before(s.ePSN) || !p.PSN.Before(s.ePSN.Add(uint32(qp.sackBits))) || s.ahead != nil && s.ahead.here.has(p.PSN) {
		c.DropTrimmed++
		return
	}
	c.Trimmed++
	a := qp.beginAhead()
	if a.cut.has(p.PSN) || !p.PSN.Before(a.seen) { // else it was overtaken
		qp.miss(1, bytes)
	}
	a.cut.add(p.PSN)
}

// nextMissing answers the first packets in a row, from psn on, that are missing, as many as a TOKEN's range can have;
// none when there are none.
func (qp *QueuePair) nextMissing(psn wire.PSN) (first wire.PSN, count uint8) {
	s := &qp.resp
	if s.ahead == nil {
		return 0, 0
	}
	if psn.Before(s.ePSN) {
		psn = s.ePSN
	}
	for end := s.ePSN.Add(psnWindow); psn.Before(end) && count < 255; psn = psn.Add(1) {
		switch {
		case s.ahead.missing(psn, s.ePSN):
			if count == 0 {
				first = psn
			}
			count++
		case count > 0:
			return first, count
		}
	}
	return first, count
}

func (a *ahead) missing(psn, ePSN wire.PSN) bool {
	return (psn == ePSN || !a.here.has(psn)) && (a.cut.has(psn) || psn.Before(a.seen))
}
