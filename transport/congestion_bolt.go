package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
)

// Bolt, between endpoints that agreed to it (docs/wire.md): a requester whose algorithm takes
// switches' events (cc.CST) sets flags in its SENDs and WRITEs, and switches change them. ACKs echo
// the counts of these flags, and a switch with a queue sends a report to the requester itself.

// bolt is a queue pair's state of Bolt's flags. It is borrowed by queue pairs that send or receive
// them.
type bolt struct {
	seen extension.BoltCounts // on the peer's requests
	some bool                 // seen is not zero

	tags    cc.BoltFlags         // that the algorithm sets on our requests
	told    extension.BoltCounts // counts of the flags on our requests, as the peer has echoed them
	news    cc.BoltFlags         // changes of told that were not reported yet
	newINCs int
	newSRC  cc.SRC
}

// boltTLVs is how many bytes Bolt adds to a packet.
const boltTLVs = wire.XCHLen + wire.InnerLen + extension.BoltLen

// boltState returns the state of Bolt's flags, and borrows it first if necessary.
func (cong *congestion) boltState() *bolt {
	qp := cong.conn()
	m := cong.ackEcho()
	if m.bolt == nil {
		m.bolt = qp.ep.bolts.borrow()
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
		extension.BoltFlags(d.Tag(qp.snd.left()-qp.loss.flight())), uint32(qp.Num))
	return boltTLVs
}

// onBoltFlags counts the flags of a request.
func (cong *congestion) onBoltFlags(t extension.Bolt) {
	b := cong.boltState()
	b.seen.Add(t)
	b.some = true
}

// boltEchoLen returns how many bytes of TLVs an ACK needs to echo Bolt's flags.
func (cong *congestion) boltEchoLen() int {
	if cong.cold().echo == nil || cong.cold().echo.bolt == nil || !cong.cold().echo.bolt.some {
		return 0
	}
	return extension.BoltEchoLen
}

// onBoltEchoed applies the peer's counts of the flags on all our requests. An ACK that was
// overtaken by a newer one has lower counts, which are ignored.
func (cong *congestion) onBoltEchoed(all extension.BoltCounts) {
	b := cong.cold().echo.bolt
	if n := int32(all.INC - b.told.INC); n > 0 {
		b.told.INC = all.INC
		b.news |= cc.BoltINC
		b.newINCs += int(n)
	}
	if int16(all.AI-b.told.AI) > 0 {
		b.told.AI = all.AI
		b.news |= cc.BoltAI
	}
	if int16(all.DEC-b.told.DEC) > 0 {
		b.told.DEC = all.DEC
		b.news |= cc.BoltDEC
		b.newSRC = cc.SRC{Drain: all.Report.Drain, Rate: all.Report.Rate}
	}
}

// addBolt adds the echoes that were not reported yet to an acknowledgement of packets.
func (cong *congestion) addBolt(ev *cc.Event) {
	b := cong.cold().echo.bolt
	ev.Bolt, ev.Increases, ev.SRC = b.news, min(b.newINCs, ev.Packets), b.newSRC
	b.news, b.newINCs, b.newSRC = 0, 0, cc.SRC{}
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
