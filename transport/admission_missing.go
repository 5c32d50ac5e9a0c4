package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// What a responder knows of packets that left its peer and are not here: those before one that is,
// and those whose header is.

// onSeen notes that everything before psn has left the peer: what is not here of that is missing,
// at
// once or when it has had its time.
func (a *admission) onSeen(psn wire.PSN, now units.Time) {
	if !psn.After(a.seen) {
		return
	}
	a.seen = psn
	if patience := a.qp.loss.reorderingWindow(); patience > 0 {
		a.deadlines.add(psn, patience, now)
		a.qp.setTimer()
	} else {
		a.reportMissingBefore(psn, now)
	}
}

// reportMissingBefore tells the granter of what is missing before psn. Packets whose header came
// it knows of.
func (a *admission) reportMissingBefore(psn wire.PSN, now units.Time) {
	if a.told.Before(a.qp.rcv.expected()) {
		a.told = a.qp.rcv.expected()
	}
	missing := max(0, int(psn.Sub(a.told)))
	for p := a.told; p.Before(psn) && within(a.qp.rcv.expected(), p); p = p.Add(1) {
		if a.cut.has(p) || p != a.qp.rcv.expected() && a.qp.rcv.holds(p) {
			missing--
		}
	}
	if psn.After(a.told) {
		a.told = psn
	}
	if missing > 0 {
		a.reportMissing(missing, units.Bytes(missing)*units.Bytes(a.qp.mtu), now)
	}
}

// reportMissing tells the granter that packets of so many bytes, at most, left the peer and did
// not come.
func (a *admission) reportMissing(packets int, bytes units.Bytes, now units.Time) {
	a.qp.ep.counters.Missing += uint64(packets)
	a.granter.Missing(packets, bytes, now)
}

// receiveTrimmed handles a frame that is shorter than it says: cut by a switch if it has the DSCP
// of such, else broken.
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
	case info.Kind != wire.Send && info.Kind != wire.Write && p.Op != wire.XDATA ||
		!qp.isSelective() || !qp.adm.hasGranter():
		c.DropTrimmed++
	case p.Op == wire.XDATA && p.XCH().Tag.Get() != qp.recvTag:
		c.DropTag++
	default:
		qp.adm.receiveTrimmed(p, min(units.Bytes(payload), units.Bytes(qp.mtu)))
	}
}

// receiveTrimmed takes note of a packet of so many bytes whose header is all that came. It says
// nothing of the packets before it, which wait in the queue that it found full. That a packet is
// missing which was overtaken, too, is told once; but one whose header came before was sent again,
// and is missing again.
func (a *admission) receiveTrimmed(p *wire.Packet, bytes units.Bytes) {
	qp := a.qp
	e := qp.ep
	if p.PSN.Before(qp.rcv.expected()) ||
		!p.PSN.Before(qp.rcv.expected().Add(uint32(qp.sackBits))) ||
		p.PSN != qp.rcv.expected() && qp.rcv.holds(p.PSN) {
		e.counters.DropTrimmed++
		return
	}
	e.counters.Trimmed++
	if a.cut.has(p.PSN) || !p.PSN.Before(a.told) { // else it was overtaken
		a.reportMissing(1, bytes, e.now)
	}
	a.cut.add(p.PSN)
	a.listed.remove(p.PSN)
	a.scheduleGranter(e.now)
}

// dropped notes that psn, of so many bytes, came before its turn, and there was no room for it.
func (a *admission) dropped(psn wire.PSN, bytes units.Bytes) {
	if qp := a.qp; psn.Before(qp.rcv.expected().Add(uint32(qp.sackBits))) {
		a.cut.add(psn)
		a.listed.remove(psn)
		a.reportMissing(1, bytes, qp.ep.now)
		a.scheduleGranter(qp.ep.now)
	}
}

// hasMissing reports whether packets are missing that the peer is known to have sent.
func (a *admission) hasMissing() bool {
	qp := a.qp
	return a.told.After(qp.rcv.expected()) || !a.cut.isEmpty()
}

// mostPasses is how many lists of headers alone may pass over the oldest packet.
const mostPasses = 2

// missingRanges returns which, as far as a TOKEN can tell. They are valid until the next call.
// Packets whose headers came go first, alone, and each but once for a header: who hears of them
// sends them again at once, whenever it did before.
func (a *admission) missingRanges() (ranges []extension.Range, trimmed bool) {
	qp := a.qp
	for i := range a.cut {
		trimmed = trimmed || a.cut[i]&^a.listed[i] != 0
	}
	// it is lost, and not its payload alone
	if oldest := qp.rcv.expected(); trimmed && !a.cut.has(oldest) && a.told.After(oldest) {
		if a.passed != oldest {
			a.passed, a.passes = oldest, 0
		}
		if a.passes++; a.passes > mostPasses {
			// with new headers for each list it never had its turn
			a.passes, trimmed = mostPasses, false
		}
	}
	e, n := qp.ep, 0
	for psn, end := qp.rcv.expected(),
		qp.rcv.expected().Add(psnWindow); psn.Before(end); psn = psn.Add(1) {
		if trimmed && (!a.cut.has(psn) || a.listed.has(psn)) || !a.isMissing(psn) {
			continue
		}
		if last := &e.ranges[max(n, 1)-1]; n == 0 || wire.PSN(last.First).Add(uint32(last.Count)) !=
			psn ||
			last.Count == 255 {
			if n == len(e.ranges) {
				break
			}
			e.ranges[n] = extension.Range{First: uint32(psn)}
			n++
		}
		e.ranges[n-1].Count++
		if trimmed {
			a.listed.add(psn)
		}
	}
	return e.ranges[:n], trimmed
}

// isMissing reports whether psn, which is less than a window ahead, is missing, and not merely to
// come.
func (a *admission) isMissing(psn wire.PSN) bool {
	qp := a.qp
	if psn != qp.rcv.expected() && qp.rcv.holds(psn) {
		return false
	}
	return psn.Before(a.told) || a.cut.has(psn)
}
