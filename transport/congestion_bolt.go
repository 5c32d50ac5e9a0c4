package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
)

// Bolt, between endpoints that agreed to it (docs/wire.md): a requester whose algorithm takes
// switches' events (cc.CST) sets flags in its SENDs and WRITEs, and switches change them. ACKs echo
// the counts of these flags, and a switch with a queue sends a report to the requester itself.

// bolt is a queue pair's state of Bolt's flags. Queue pairs that send or receive them take one from
// the endpoint's pool.
type bolt struct {
	received    extension.BoltCounts // on the peer's requests
	hasReceived bool                 // received is not zero

	tags     cc.BoltFlags         // that the algorithm sets on our requests
	echoed   extension.BoltCounts // counts of the flags on our requests, as the peer echoed them
	newFlags cc.BoltFlags         // changes of echoed that were not reported yet
	newINCs  int
	newSRC   cc.SRC
}

// boltTLVs is how many bytes Bolt adds to a packet.
const boltTLVs = wire.XCHLen + wire.InnerLen + extension.BoltLen

// boltState returns the state of Bolt's flags, and takes one from the pool first if necessary.
func (cong *congestion) boltState() *bolt {
	qp := cong.conn()
	m := cong.ackEcho()
	if m.bolt == nil {
		m.bolt = qp.ep.bolts.get()
		*m.bolt = bolt{}
	}
	return m.bolt
}

// openBolt writes the header of an XDATA that carries op and Bolt's flags. It returns the length of
// the header.
func (cong *congestion) openBolt(frame []byte, op wire.Opcode) int {
	qp := cong.conn()
	b := cong.cold().echo.bolt
	d := cc.Decision{Window: cong.window, Tags: b.tags}
	b.tags &^= cc.BoltAI // for one packet only
	wire.View[wire.XCH](frame).Set(qp.sendTag, extension.BoltLen)
	wire.SetInner(frame[wire.XCHLen:], op)
	extension.Bolt(frame[wire.XCHLen+wire.InnerLen:][:extension.BoltLen]).Set(
		extension.BoltFlags(d.Tag(qp.snd.unackedBytes()-qp.loss.flight())), uint32(qp.Num))
	return boltTLVs
}

// onBoltFlags counts the flags of a request.
func (cong *congestion) onBoltFlags(t extension.Bolt) {
	b := cong.boltState()
	b.received.Add(t)
	b.hasReceived = true
}

// boltEchoLen returns how many bytes of TLVs an ACK needs to echo Bolt's flags.
func (cong *congestion) boltEchoLen() int {
	echo := cong.cold().echo
	if echo == nil || echo.bolt == nil || !echo.bolt.hasReceived {
		return 0
	}
	return extension.BoltEchoLen
}

// onBoltEchoed applies the peer's counts of the flags on all our requests. An ACK that was
// overtaken by a newer one has lower counts, which are ignored.
func (cong *congestion) onBoltEchoed(counts extension.BoltCounts) {
	b := cong.cold().echo.bolt
	if n := int32(counts.INC - b.echoed.INC); n > 0 {
		b.echoed.INC = counts.INC
		b.newFlags |= cc.BoltINC
		b.newINCs += int(n)
	}
	if int16(counts.AI-b.echoed.AI) > 0 {
		b.echoed.AI = counts.AI
		b.newFlags |= cc.BoltAI
	}
	if int16(counts.DEC-b.echoed.DEC) > 0 {
		b.echoed.DEC = counts.DEC
		b.newFlags |= cc.BoltDEC
		b.newSRC = cc.SRC{Drain: counts.Report.Drain, Rate: counts.Report.Rate}
	}
}

// addBoltEcho adds the echoes that were not reported yet to an acknowledgement of packets.
func (cong *congestion) addBoltEcho(ev *cc.Event) {
	b := cong.cold().echo.bolt
	ev.Bolt, ev.Increases, ev.SRC = b.newFlags, min(b.newINCs, ev.Packets), b.newSRC
	b.newFlags, b.newINCs, b.newSRC = 0, 0, cc.SRC{}
}

// receiveSRC handles a switch's report on its queue, which one of our requests met. The report has
// the tag of our requests.
func (cong *congestion) receiveSRC(p *wire.Packet) {
	qp := cong.conn()
	e := qp.ep
	switch {
	case !cong.bolt:
		e.counters.DropUnnegotiated++
	case p.XCH().Tag.Get() != qp.sendTag:
		e.counters.DropTag++
	case qp.state != ReadyToSend && qp.state != SQDrained:
		e.counters.DropState++
	case !p.PSN.Before(qp.loss.highest()):
		e.counters.DropGhostReport++
	default:
		e.counters.SwitchReports++
		s := extension.Report(p.Body())
		cong.report(cc.Event{Kind: cc.CST, PSN: uint32(p.PSN),
			SRC: cc.SRC{Drain: s.Drain, Rate: s.Rate, Sent: cong.sendTime(p.PSN).at}}, e.now)
	}
}
