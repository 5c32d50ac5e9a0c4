package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
)

// Bolt, between ours who agreed to it (docs/wire.md): a requester whose congestion control hears
// switches (cc.CST) puts flags into its SENDs and WRITEs, which switches change; ACKs bring their
// counts back, and a switch with a queue sends its report to the requester itself.

// bolt is what a queue pair knows of Bolt's flags. It borrows one while it sends or hears them.
type bolt struct {
	seen extension.BoltCounts // on the peer's requests
	some bool                 // there were any

	tags    cc.BoltFlags         // that congestion control wants on our requests
	told    extension.BoltCounts // of them, as the peer has told
	news    cc.BoltFlags         // of that what was not reported yet
	newINCs int
	newSRC  cc.SRC
}

// boltTLVs is how much longer Bolt makes a packet.
const boltTLVs = wire.XCHLen + wire.InnerLen + extension.BoltLen

// boltState borrows one, unless there is one.
func (cong *congestion) boltState() *bolt {
	qp := cong.conn()
	m := cong.ackEcho()
	if m.bolt == nil {
		m.bolt = qp.ep.bolts.borrow()
		*m.bolt = bolt{}
	}
	return m.bolt
}

// openBolt begins an XDATA with Bolt's flags and op in it. It returns how long that beginning is.
func (cong *congestion) openBolt(frame []byte, op wire.Opcode) int {
	qp := cong.conn()
	b := cong.cold().echo.bolt
	d := cc.Decision{Window: cong.window, Tags: b.tags}
	b.tags &^= cc.BoltAI // one packet has it
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

// boltEchoLen is how many bytes of TLVs an ACK needs to tell of Bolt's flags.
func (cong *congestion) boltEchoLen() int {
	if cong.cold().echo == nil || cong.cold().echo.bolt == nil || !cong.cold().echo.bolt.some {
		return 0
	}
	return extension.BoltEchoLen
}

// onBoltEchoed takes in what the peer says of the flags of all our requests. An ACK that was
// overtaken
// by a newer one says less.
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

// addBolt adds the news to an acknowledgement of packets.
func (cong *congestion) addBolt(ev *cc.Event) {
	b := cong.cold().echo.bolt
	ev.Bolt, ev.Increases, ev.SRC = b.news, min(b.newINCs, ev.Packets), b.newSRC
	b.news, b.newINCs, b.newSRC = 0, 0, cc.SRC{}
}

// receiveSRC handles what a switch says of its queue, which one of our requests met. It has the tag
// that our requests have.
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
