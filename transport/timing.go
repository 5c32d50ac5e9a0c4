package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Between ours, who agreed to it, the delay of a round trip is parted as Swift has it (SIGCOMM 2020,
// section 3.1): a packet that asks for it leaves at t1 and arrives at t2, its ACK leaves at t3, arrives
// at t4 and is handled at t5. t3−t2 stands in the ACK, t5−t4 is our own. t2 and t4 are the port's
// where it notes them, else when it was polled.

// cameAt notes when the frame at hand arrived; what the one before it said is no more.
func (e *Endpoint) cameAt(t units.Time) {
	e.timed.leftAt, e.hopCount = 0, 0
	if e.arrived = t; e.arrived == 0 || e.arrived.After(e.now) {
		e.arrived = e.now
	}
}

// time notes that the request at hand asks how long it was here.
func (qp *QueuePair) time(p *wire.Packet) {
	m := qp.beginMarks()
	m.timed, m.ttl, m.timeAt, m.asked = p.PSN, p.TTL(), qp.ep.arrived, true
}

// timingLen is how many bytes of TLVs the next ACK needs to tell.
func (qp *QueuePair) timingLen() int {
	if qp.marks == nil || !qp.marks.asked {
		return 0
	}
	return wire.TimingLen
}

func (qp *QueuePair) tellTiming(t wire.Timing) {
	m := qp.marks
	t.Set(m.timed, m.ttl, qp.ep.now.Sub(m.timeAt), m.timeAt)
	m.asked = false
}

// timed is a packet of ours of which the peer said how long it was there.
type timed struct {
	leftAt   units.Time // 0: none
	endpoint units.Duration
	oneWay   units.Duration
	hops     int
}

// hearTiming takes in what an ACK says of a packet that is outstanding, or just acknowledged. It is
// void when the peer had it longer than all of the round trip took.
func (qp *QueuePair) hearTiming(t wire.Timing) {
	e, r := qp.ep, &qp.req
	leftAt := r.sentAt(t.PSN())
	endpoint := t.Residence() + e.now.Sub(e.arrived)
	switch {
	case t.PSN().Before(r.una) || !t.PSN().Before(r.sndMax) || leftAt == 0:
	case endpoint > e.now.Sub(leftAt):
		e.counters.BadTiming++
	default:
		e.timed = timed{leftAt, endpoint, oneWay(leftAt, t.Arrived()), max(0, int(qp.tmpl.TTL())-int(t.TTL()))}
	}
}

// oneWay answers how long the way there took, with clocks whose difference nobody knows: as cc.Event
// has it.
func oneWay(left units.Time, arrived units.Duration) units.Duration {
	return units.Duration(int32(arrived/units.Nanosecond-left.Sub(0)/units.Nanosecond)) * units.Nanosecond
}

// fill adds what is known to a delay sample.
func (t *timed) fill(ev *cc.Event) {
	if t.leftAt != 0 {
		ev.Endpoint, ev.OneWay, ev.Hops = t.endpoint, t.oneWay, t.hops
	}
}
