package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// The responder's view of packets that left its peer and did not arrive: those before one that
// arrived, and those of which only the header did.

// onPeerSent records that the peer has sent everything before psn. What has not arrived of that is
// missing: at once, or when the reordering window is over.
func (a *admission) onPeerSent(psn wire.PSN, now units.Time) {
	if !psn.After(a.rcvMax) {
		return
	}
	a.rcvMax = psn
	if window := a.qp.loss.reorderingWindow(); window > 0 {
		a.deadlines.add(psn, window, now)
		a.qp.setTimer()
	} else {
		a.reportMissingBefore(psn, now)
	}
}

// reportMissingBefore reports what is missing before psn to the granter. Packets whose header
// arrived have been reported already.
func (a *admission) reportMissingBefore(psn wire.PSN, now units.Time) {
	if a.reported.Before(a.qp.rcv.expected()) {
		a.reported = a.qp.rcv.expected()
	}
	missing := max(0, int(psn.Sub(a.reported)))
	for p := a.reported; p.Before(psn) && within(a.qp.rcv.expected(), p); p = p.Add(1) {
		if a.knownLost.has(p) || p != a.qp.rcv.expected() && a.qp.rcv.holds(p) {
			missing--
		}
	}
	if psn.After(a.reported) {
		a.reported = psn
	}
	if missing > 0 {
		a.reportMissing(missing, units.Bytes(missing)*units.Bytes(a.qp.mtu), now)
	}
}

// reportMissing reports to the granter that packets left the peer and did not arrive; bytes is an
// upper bound of their payload.
func (a *admission) reportMissing(packets int, bytes units.Bytes, now units.Time) {
	a.qp.ep.counters.Missing += uint64(packets)
	a.granter.Missing(packets, bytes, now)
}

// receiveTrimmed handles a frame that is shorter than its headers say: trimmed by a switch if it
// has the DSCP for that, malformed otherwise.
func (e *Endpoint) receiveTrimmed(frame []byte) {
	c, p := &e.counters, &e.pkt
	e.likePrevious = nil
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
	case !qp.isReceiving():
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

// receiveTrimmed handles a packet trimmed to its header, whose payload had the given length. The
// header shows nothing of the packets before it, which wait in the queue that it found full. A
// packet that was reported missing because it was overtaken is not reported again. One whose header
// came before was sent again, and is missing again.
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
	// otherwise it was reported when it was overtaken
	if a.knownLost.has(p.PSN) || !p.PSN.Before(a.reported) {
		a.reportMissing(1, bytes, e.now)
	}
	a.knownLost.add(p.PSN)
	a.lossReported.remove(p.PSN)
	a.scheduleGranter(e.now)
}

// onDropped records that psn, with a payload of the given length, arrived out of order and was
// dropped.
func (a *admission) onDropped(psn wire.PSN, bytes units.Bytes) {
	if qp := a.qp; psn.Before(qp.rcv.expected().Add(uint32(qp.sackBits))) {
		a.knownLost.add(psn)
		a.lossReported.remove(psn)
		a.reportMissing(1, bytes, qp.ep.now)
		a.scheduleGranter(qp.ep.now)
	}
}

// hasMissing reports whether packets are missing that the peer is known to have sent.
func (a *admission) hasMissing() bool {
	qp := a.qp
	return a.reported.After(qp.rcv.expected()) || !a.knownLost.isEmpty()
}

// maxSkips is how many loss reports of trimmed packets alone may skip the oldest packet.
const maxSkips = 2

// missingRanges returns the missing packets, as many as fit in a TOKEN. They are valid until the
// next call. Packets whose headers came go first, without others, and once for each header: the
// peer retransmits them at once, however recently it did so before.
func (a *admission) missingRanges() (ranges []extension.Range, trimmed bool) {
	qp := a.qp
	for i := range a.knownLost {
		trimmed = trimmed || a.knownLost[i]&^a.lossReported[i] != 0
	}
	// the oldest packet is lost, not only trimmed
	if oldest := qp.rcv.expected(); trimmed && !a.knownLost.has(oldest) &&
		a.reported.After(oldest) {
		if a.skippedOldest != oldest {
			a.skippedOldest, a.skips = oldest, 0
		}
		if a.skips++; a.skips > maxSkips {
			// new headers before each report would keep the oldest packet out of all of them
			a.skips, trimmed = maxSkips, false
		}
	}
	e, n := qp.ep, 0
	for psn, end := qp.rcv.expected(),
		qp.rcv.expected().Add(psnWindow); psn.Before(end); psn = psn.Add(1) {
		if trimmed && (!a.knownLost.has(psn) || a.lossReported.has(psn)) || !a.isMissing(psn) {
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
			a.lossReported.add(psn)
		}
	}
	return e.ranges[:n], trimmed
}

// isMissing reports whether psn, which is less than a window ahead, is missing rather than not sent
// yet.
func (a *admission) isMissing(psn wire.PSN) bool {
	qp := a.qp
	if psn != qp.rcv.expected() && qp.rcv.holds(psn) {
		return false
	}
	return psn.Before(a.reported) || a.knownLost.has(psn)
}
