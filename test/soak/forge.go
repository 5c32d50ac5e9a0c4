package main

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// forgery is a sort of packet that should not be.
type forgery int

const (
	forgeNoise     forgery = iota // any bytes behind the UDP header
	forgeOpcode                   // any opcode, in the name of the peer
	forgeExtension                // one of ours
	forgeStranger                 // any opcode, from somebody else
	forgePartition                // from another partition
	forgeReplay                   // what the peer sent, again
	forgeBits                     // the same with bits that changed on the way
	forgeSealed                   // the same with a checksum that says that they did not
	forgeTrimmed                  // the headers of a packet, as a switch leaves them
	forgeCNP                      // a congestion notification
	forgeNeighbor                 // an ARP request of a host that is not there
	forgeries
)

// forger sends a volley.
type forger struct {
	world *world
	*volley
	dice dice
	left int
	room [8192]byte
}

// fire sends the next packet, and comes again for the one after it.
func (f *forger) fire() {
	w := f.world
	x := w.plan.sessions[f.session].sides[f.side]
	from := w.nodes[f.from]
	wait := f.gap
	for f.left > 0 {
		f.left--
		if x.session.state == sessionOpen && !x.over() && !x.peer.over() && x.node != nil &&
			x.node.endpoint != nil && from.endpoint != nil {
			if frame := f.forge(x); frame != nil && !from.inject(frame) {
				wait = max(wait, from.host.NIC().Info().LinkRate.Duration(units.Bytes(len(frame))))
			}
		}
		if wait > 0 {
			break
		}
	}
	if f.left > 0 {
		w.net.At(w.net.Now().Add(wait), f.fire)
		return
	}
	for _, n := range w.nodes {
		if n.endpoint != nil {
			n.withinBudget()
		}
	}
}

// inject sends a frame past the host's endpoint, unless its NIC is full.
func (n *node) inject(frame []byte) bool {
	nic := n.host.NIC()
	var one [1]packet.Buf
	nic.Alloc(one[:])
	if room := one[0].Room(); len(frame) > len(room) {
		nic.Free(one[:])
		return true
	}
	one[0].SetLen(copy(one[0].Room(), frame))
	if nic.Send(packet.ClassData, one[:]) == 0 {
		nic.Free(one[:])
		return false
	}
	return true
}

// forge makes a packet toward a side's queue pair; nil when there is none to be had.
func (f *forger) forge(x *side) []byte {
	d := f.dice
	switch f.forgery {
	case forgeReplay, forgeBits, forgeSealed:
		return f.replay(x)
	case forgeNeighbor:
		return f.arp(x)
	}
	var t wire.Template
	if err := t.Set(f.address(x)); err != nil {
		f.world.violated("forge: %v", err)
		return nil
	}
	op := f.opcode(x)
	info := op.Info()
	size := 0
	if info.Payload {
		size = oneOf(d, 0, 1, 8, int(x.session.mtu), d.IntN(int(x.session.mtu)+1))
	}
	if op == wire.XACK || op == wire.XDATA {
		size += 4 * d.IntN(20)
	}
	psn := f.psn(x)
	flags := wire.AckReq.When(d.chance(0.5)) | wire.Solicited.When(d.chance(0.2))
	ext, total := t.Build(f.room[:], wire.Fields{Op: op, Flags: flags, PSN: psn}, size)
	frame := f.room[:total]
	for i := ext; i < total-wire.ICRCLen; i++ {
		frame[i] = byte(d.Uint32())
	}
	switch {
	case op >= wire.Manufacturer && op <= wire.XDATA:
		tlvs := 0
		if op == wire.XACK {
			tlvs = size
		}
		wire.XCH(frame[ext:]).Set(f.tag(x, op), tlvs)
	case info.Transport == wire.UD:
		wire.DETH(frame[ext:ext+wire.DETHLen]).Set(qkey^1<<d.IntN(31), x.peer.qp.Num)
	}
	t.Seal(frame)
	switch f.forgery {
	case forgeTrimmed:
		return frame[:min(total, ext+6)]
	case forgeNoise:
		if d.chance(0.5) {
			frame = frame[:max(20, d.IntN(total))]
		}
	}
	return frame
}

// address is that of the peer's packets, or nearly.
func (f *forger) address(x *side) wire.Address {
	d, s := f.dice, x.session
	a := wire.Address{
		SrcMAC: [6]byte(f.world.nodes[f.from].host.NIC().Info().MAC),
		DstMAC: [6]byte(x.node.host.NIC().Info().MAC), VLAN: s.plan.vlan,
		Src: x.peer.node.address(s.v6), Dst: x.node.address(s.v6),
		SrcPort: uint16(between(d, 0xc000, 0xffff)),
		TOS:     uint8(d.Uint32()), PKey: s.pkeys[f.side], DestQP: x.qp.Num,
	}
	switch f.forgery {
	case forgeTrimmed:
		a.TOS = trimmedDSCP << 2
	case forgeStranger:
		if a.Src = netip.AddrFrom4([4]byte{10, 9, byte(d.Uint32()), byte(d.Uint32())}); s.v6 {
			six := x.peer.node.address(true).As16()
			six[7] ^= 1
			a.Src = netip.AddrFrom16(six)
		}
	case forgePartition:
		a.PKey ^= 1 << d.IntN(15)
	case forgeNoise:
		if d.chance(0.5) {
			a.DestQP = wire.QPN(d.Uint32() & wire.QPNMask)
		}
	}
	return a
}

// opcode is any that is not inherently believed.
func (f *forger) opcode(x *side) wire.Opcode {
	d := f.dice
	if f.forgery == forgeCNP {
		return wire.CNP
	}
	for {
		op := wire.Opcode(d.IntN(256))
		if f.forgery == forgeExtension {
			op = wire.Manufacturer + wire.Opcode(d.IntN(8))
		}
		t := op.Info().Transport
		switch own := f.forgery == forgeStranger || f.forgery == forgePartition; {
		case op.Info().Name == "":
		case t == wire.UC && x.session.service == transport.UC && !own:
		default:
			return op
		}
	}
}

// psn is one that no packet of the peer's has any more, or ever will.
func (f *forger) psn(x *side) wire.PSN {
	d, at := f.dice, x.qp.PSNs()
	for {
		psn := wire.PSN(d.Uint32() & wire.PSNMask)
		if near := uint32(scale(d, 1, 1<<20)); d.chance(0.9) {
			psn = oneOf(d, at.Expected, at.Unacknowledged).Add(wire.PSNMask + 1 - near)
			if d.chance(0.5) {
				psn = oneOf(d, x.peer.lastPSN(), x.lastPSN()).Add(near)
			}
		}
		if f.forgery == forgeStranger || f.forgery == forgePartition || !x.believes(psn) {
			return psn
		}
	}
}

// believes reports whether a packet with a PSN may be the peer's: a request that is expected or to
// come, or what speaks of a packet that is outstanding or to come.
func (x *side) believes(psn wire.PSN) bool {
	at := x.qp.PSNs()
	return !psn.Before(at.Expected) && !psn.After(x.peer.lastPSN()) ||
		!psn.Before(at.Unacknowledged.Add(wire.PSNMask)) && !psn.After(x.lastPSN())
}

// lastPSN is past all that the side ever sends.
func (x *side) lastPSN() wire.PSN {
	n := x.packets() + afterFailure
	return x.psn.Add(uint32(n) + 64)
}

// tag is the right one now and then, where nothing is believed for it.
func (f *forger) tag(x *side, op wire.Opcode) uint16 {
	if !f.world.plan.mode.admits() && f.dice.chance(0.5) {
		return x.tag
	}
	return x.tag ^ 1<<f.dice.IntN(16)
}

// mostRepeated is the largest READ that is asked for again: a responder must answer each repetition
// in full (InfiniBand spec 9.7.5.1.2), which takes a simulation long and proves little.
const mostRepeated = 16 << 10

// replay is a packet that the peer sent.
func (f *forger) replay(x *side) []byte {
	d := f.dice
	if x.session.service == transport.UC || x.peer.node.tap == nil { // UC takes everything
		return nil
	}
	was, some := x.peer.node.tap.draw(d, x.qp.Num)
	if !some {
		return nil
	}
	frame := f.room[:copy(f.room[:], was)]
	var p wire.Packet
	if p.Parse(frame) != nil || p.Op == wire.RCReadRequest && p.RETH().Len() > mostRepeated {
		return nil
	}
	flip := func(from, to int) {
		for range between(d, 1, 4) {
			bit := 8*from + d.IntN(8*(to-from))
			frame[bit/8] ^= 1 << (bit % 8)
		}
	}
	switch f.forgery {
	case forgeBits:
		flip(14, len(frame))
	case forgeSealed: // of what is over
		info := p.Op.Info()
		if x.session.service != transport.RC || x.believes(p.PSN) || info.Kind == wire.Extension ||
			p.Op == wire.XACK || int(p.End) == int(p.ExtOff) {
			return nil
		}
		flip(int(p.ExtOff), int(p.End))
		var t wire.Template
		if t.Set(f.address(x)) != nil {
			return nil
		}
		t.Seal(frame)
	}
	return frame
}

// arp is a request of a host that is not there.
func (f *forger) arp(x *side) []byte {
	d := f.dice
	frame := f.room[:60]
	clear(frame)
	mac, dst := [6]byte{2, 0xbb, 3: byte(d.Uint32()), 4: byte(d.Uint32()), 5: byte(d.Uint32())},
		x.node.host.NIC().Info().MAC
	copy(frame, dst[:])
	copy(frame[6:], mac[:])
	at := 12
	if tci := f.world.plan.vlan; tci != 0 {
		binary.BigEndian.PutUint16(frame[at:], wire.EtherTypeVLAN)
		binary.BigEndian.PutUint16(frame[at+2:], tci)
		at += 4
	}
	binary.BigEndian.PutUint16(frame[at:], 0x0806)
	copy(frame[at+2:], []byte{0, 1, 8, 0, 6, 4, 0, 1})
	copy(frame[at+10:], mac[:])
	copy(frame[at+16:], []byte{10, 200, byte(d.Uint32()), byte(d.Uint32())})
	target := x.node.address(false).As4()
	copy(frame[at+26:], target[:])
	return frame
}
