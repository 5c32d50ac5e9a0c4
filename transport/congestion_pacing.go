package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// isPaced reports whether the limiter releases the queue pair's requests, packet by packet.
// Datagrams are not paced: there is no feedback on their congestion.
func (cong *congestion) isPaced() bool {
	qp := cong.conn()
	return cong.rated && qp.Type != UD
}

// setRate applies a rate set by congestion control; 0 means as fast as the port. The limiter, some
// 20 KB, is created with the first rate.
func (cong *congestion) setRate(rate units.BitRate) {
	qp := cong.conn()
	e, f := qp.ep, uint32(cong.flow)
	if rate = max(rate, 0); rate == cong.cold().rate {
		return
	}
	cong.cold().rate, cong.rated = rate, rate > 0
	if qp.Type == UD {
		return
	}
	if e.limiter == nil {
		e.limiter = pace.NewLimiter(e.now, pace.PacketSlot)
	}
	e.limiter.Rate(f, rate, e.now)
	if rate == 0 {
		e.limiter.Leave(f)
	}
}

// removeFromLimiter removes the queue pair and its rate from the limiter.
func (cong *congestion) removeFromLimiter() {
	qp := cong.conn()
	cong.cold().rate, cong.rated = 0, false
	if qp.ep.limiter != nil {
		qp.ep.limiter.Forget(uint32(cong.flow))
	}
}

// cancelPacing withdraws the queue pair's next packet, which may not leave after all, from the
// limiter.
func (cong *congestion) cancelPacing() {
	qp := cong.conn()
	if cong.isPaced() {
		qp.ep.limiter.Leave(uint32(cong.flow))
	}
}

// waitForPace makes a paced queue pair wait for the start time of its next packet, if it may send
// one.
func (cong *congestion) waitForPace(now units.Time) {
	qp := cong.conn()
	if size, ok := qp.snd.nextPacket(now); ok {
		qp.ep.limiter.Wait(uint32(cong.flow), size, now)
	}
}

// transmitPaced lets queue pairs send a packet each, in the limiter's order, as long as packets are
// due. It returns how many packets were sent.
func (e *Endpoint) transmitPaced(now units.Time, budget int) (sent int) {
	if e.limiter == nil {
		return 0
	}
	for f, some := e.limiter.Head(now); some && sent < budget; f, some = e.limiter.Head(now) {
		qp := e.qps.find(e.flows[f])
		n, more := qp.snd.transmit(now, 1)
		sent += n
		if e.trace != nil {
			e.trace.onTurn(qp, n == 0 && more)
		}
		if n == 0 && more {
			break // the port has no room
		}
		if !qp.cong.isPaced() { // any longer
			e.scheduleRequests(qp)
			continue
		}
		if size, ok := qp.snd.nextPacket(now); ok && more {
			e.limiter.Again(f, size)
		} else {
			e.limiter.Leave(f)
		}
	}
	return sent
}

// sentBatch is the packets that an unpaced queue pair sent in one turn, which are reported as one
// TX event: an event for each would take a tenth of the time in which a 4 KB packet is built. A
// paced flow sends, and reports, packet by packet. So does a flow with Bolt, which marks each
// packet, and one without acknowledgements, which would have nothing left to report once a message
// is complete.
type sentBatch struct {
	first   wire.PSN
	packets uint32
	bytes   units.Bytes
}

func (d *sentBatch) add(first wire.PSN, packets, bytes uint32) {
	if d.packets == 0 {
		d.first = first
	}
	d.packets += packets
	d.bytes += units.Bytes(bytes)
}

// addSent adds n PSNs from first on to the packets to report.
func (cong *congestion) addSent(first wire.PSN, n, size uint32, now units.Time) {
	qp := cong.conn()
	qp.ep.sentBatch.add(first, n, size)
	if cong.isPaced() || cong.bolt || qp.Type != RC {
		cong.reportSent(now)
	}
}

// reportSent reports the packets that left since the last report to congestion control.
func (cong *congestion) reportSent(now units.Time) {
	e := cong.conn().ep
	if d := e.sentBatch; d.packets > 0 {
		e.sentBatch = sentBatch{}
		cong.report(cc.Event{Kind: cc.TX, PSN: uint32(d.first), Packets: int(d.packets),
			Bytes: d.bytes}, now)
	}
}
