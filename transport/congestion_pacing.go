package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// isPaced reports whether the queue pair's requests leave by the limiter's leave, a packet at a
// time.
// Datagrams do not: nothing tells of their congestion.
func (cong *congestion) isPaced() bool {
	qp := cong.conn()
	return cong.rated && qp.Type != UD
}

// setRate takes over a rate of congestion control; 0 is as fast as the port goes. The limiter, some
// 20 KB, comes with the first rate.
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
		e.limiter = pace.NewLimiter(e.now)
	}
	e.limiter.Rate(f, rate, e.now)
	if rate == 0 {
		e.limiter.Leave(f)
	}
}

// unpace makes the limiter forget the queue pair, and its rate.
func (cong *congestion) unpace() {
	qp := cong.conn()
	cong.cold().rate, cong.rated = 0, false
	if qp.ep.limiter != nil {
		qp.ep.limiter.Forget(uint32(cong.flow))
	}
}

// leavePace ends the wait for the start of a packet that may not leave after all.
func (cong *congestion) leavePace() {
	qp := cong.conn()
	if cong.isPaced() {
		qp.ep.limiter.Leave(uint32(cong.flow))
	}
}

// awaitPace has a paced queue pair wait for the start of its next packet, if it may send one.
func (cong *congestion) awaitPace(now units.Time) {
	qp := cong.conn()
	if size, ok := qp.snd.nextPacket(now); ok {
		qp.ep.limiter.Wait(uint32(cong.flow), size, now)
	}
}

// transmitPaced lets queue pairs send a packet each, in the limiter's order, as long as one's time
// has come. It returns how many were sent.
func (e *Endpoint) transmitPaced(now units.Time, budget int) (sent int) {
	if e.limiter == nil {
		return 0
	}
	for f, some := e.limiter.Head(now); some && sent < budget; f, some = e.limiter.Head(now) {
		qp := e.qps.find(e.flows[f])
		n, again := qp.snd.transmit(now, 1)
		sent += n
		if n == 0 && again {
			break // the port has no room
		}
		if !qp.cong.isPaced() { // any more
			e.scheduleRequests(qp)
			continue
		}
		if size, ok := qp.snd.nextPacket(now); ok && again {
			e.limiter.Again(f, size)
		} else {
			e.limiter.Leave(f)
		}
	}
	return sent
}

// departed is packets that left in a turn without a pace, of which congestion control gets one TX
// event: an event each would take a tenth of the time in which a 4 KB packet is built. Those of a
// paced flow leave one by one, Bolt marks each packet, and without acknowledgements nothing of a
// message is left to report once it is complete.
type departed struct {
	first   wire.PSN
	packets uint32
	bytes   units.Bytes
}

func (d *departed) add(first wire.PSN, packets, bytes uint32) {
	if d.packets == 0 {
		d.first = first
	}
	d.packets += packets
	d.bytes += units.Bytes(bytes)
}

// addSent adds n PSNs from first on to what the algorithm is told of.
func (cong *congestion) addSent(first wire.PSN, n, size uint32, now units.Time) {
	qp := cong.conn()
	qp.ep.departed.add(first, n, size)
	if cong.isPaced() || cong.bolt || qp.Type != RC {
		cong.reportSent(now)
	}
}

// reportSent tells congestion control of the packets that left since it was told last.
func (cong *congestion) reportSent(now units.Time) {
	e := cong.conn().ep
	if d := e.departed; d.packets > 0 {
		e.departed = departed{}
		cong.report(cc.Event{Kind: cc.TX, PSN: uint32(d.first), Packets: int(d.packets),
			Bytes: d.bytes}, now)
	}
}

// nextPacket returns how many bytes the packet has, or asks for, that leaves next; false when it
// may not, whatever its time. What it does not look at, transmit finds when it comes to it.
func (snd *sender) nextPacket(now units.Time) (size units.Bytes, ok bool) {
	qp := snd.conn()
	switch {
	case qp.loss.isWaitingRNR() || qp.cong.isHeld():
		return 0, false
	case qp.loss.isRecovering() && qp.loss.hasLost():
		return units.Bytes(qp.mtu), qp.cong.hasRoom(qp.mtu) &&
			qp.loss.maySendLost() &&
			qp.adm.admitsLost(now)
	case snd.next == snd.posted:
		return 0, false
	}
	w := snd.at(snd.next)
	size = units.Bytes(w.length - snd.packet<<qp.mtuShift)
	first := min(size, units.Bytes(qp.mtu))
	if w.op.hasResponse() {
		size = min(size, units.Bytes(snd.readRoom())<<qp.mtuShift)
	} else {
		size = first
	}
	return size, qp.loss.hasWindow(uint32(first)) && (w.op.hasResponse() || qp.adm.admitsNext(w,
		snd.packet,
		now))
}
