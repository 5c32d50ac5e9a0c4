package main

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// forgery is a class of forged packets.
type forgery int

const (
	forgeNoise      forgery = iota // random bytes behind the UDP header
	forgeOpcode                    // any opcode, with the peer's address
	forgeExtension                 // an opcode of our extension
	forgeStranger                  // any opcode, from an unrelated address
	forgePartition                 // from another partition
	forgeReplay                    // a packet of the peer, again
	forgeBits                      // a packet of the peer with flipped bits
	forgeSealed                    // a packet of the peer with flipped bits and a valid ICRC
	forgeTrimmed                   // the headers of a packet, as trimmed by a switch
	forgeCNP                       // a congestion notification
	forgeNeighbor                  // an ARP request of a nonexistent host
	forgeManagement                // a message of the RDMA communication manager
	forgeries
)

// forger sends a burst of forged packets.
type forger struct {
	sim *simulation
	*forgedBurst
	rng  rng
	left int
	buf  [8192]byte
}

// sendNext sends the next packets of the burst and schedules itself for the rest.
func (f *forger) sendNext() {
	sim := f.sim
	end := sim.plan.sessions[f.session].ends[f.end]
	from := sim.nodes[f.from]
	wait := f.gap
	for f.left > 0 {
		f.left--
		if end.session.state == sessionOpen && !end.isOver() && !end.peer.isOver() &&
			end.node != nil &&
			end.node.endpoint != nil && from.endpoint != nil {
			if frame := f.forge(end); frame != nil && !from.inject(frame) {
				wait = max(wait, from.host.NIC().Info().LinkRate.Duration(units.Bytes(len(frame))))
			}
		}
		if wait > 0 {
			break
		}
	}
	if f.left > 0 {
		sim.net.At(sim.net.Now().Add(wait), f.sendNext)
		return
	}
	for _, n := range sim.nodes {
		if n.endpoint != nil {
			n.checkHoldings()
		}
	}
	if f.forgery == forgeManagement && end.node != nil && end.node.endpoint != nil {
		v6 := end.session.v6
		end.node.manager.dial(end.node.address(v6), end.peer.node.address(v6), sim.net.Now())
	}
}

// inject sends a frame through the host's NIC, bypassing its endpoint. It returns false if the NIC
// is full.
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

// forge returns a packet toward an end's queue pair; nil if none can be forged.
func (f *forger) forge(end *peerEnd) []byte {
	r := f.rng
	switch f.forgery {
	case forgeReplay, forgeBits, forgeSealed:
		return f.replay(end)
	case forgeNeighbor:
		return f.arp(end)
	case forgeManagement:
		return f.managementMessage(end)
	}
	var t wire.Template
	if err := t.Set(f.address(end)); err != nil {
		f.sim.failf("forge: %v", err)
		return nil
	}
	op := f.opcode(end)
	info := op.Info()
	size := 0
	if info.Payload {
		size = pick(r, 0, 1, 8, int(end.session.mtu), r.IntN(int(end.session.mtu)+1))
	}
	if op == wire.XACK || op == wire.XDATA {
		size += 4 * r.IntN(20)
	}
	psn := f.psn(end)
	flags := wire.AckReq.When(r.chance(0.5)) | wire.Solicited.When(r.chance(0.2))
	ext, total := t.Build(f.buf[:], wire.Fields{Op: op, Flags: flags, PSN: psn}, size)
	frame := f.buf[:total]
	for i := ext; i < total-wire.ICRCLen; i++ {
		frame[i] = byte(r.Uint32())
	}
	switch {
	case op >= wire.Manufacturer && op <= wire.XDATA:
		tlvs := 0
		if op == wire.XACK {
			tlvs = size
		}
		wire.View[wire.XCH](frame[ext:]).Set(f.tag(end, op), tlvs)
	case info.Transport == wire.UD:
		wire.View[wire.DETH](frame[ext:]).Set(qkey^1<<r.IntN(31), end.peer.qp.Num)
	}
	t.Seal(frame)
	switch f.forgery {
	case forgeTrimmed:
		return frame[:min(total, ext+6)]
	case forgeNoise:
		if r.chance(0.5) {
			frame = frame[:max(20, r.IntN(total))]
		}
	}
	return frame
}

// address returns the peer's address, modified as the forgery requires.
func (f *forger) address(end *peerEnd) wire.Address {
	r, s := f.rng, end.session
	a := wire.Address{
		SrcMAC: [6]byte(f.sim.nodes[f.from].host.NIC().Info().MAC),
		DstMAC: [6]byte(end.node.host.NIC().Info().MAC), VLAN: s.plan.vlan,
		Src: end.peer.node.address(s.v6), Dst: end.node.address(s.v6),
		SrcPort: uint16(uniform(r, 0xc000, 0xffff)),
		TOS:     uint8(r.Uint32()), PKey: s.pkeys[f.end], DestQP: end.qp.Num,
	}
	switch f.forgery {
	case forgeTrimmed:
		a.TOS = trimmedDSCP << 2
	case forgeStranger, forgeManagement:
		if f.forgery == forgeManagement && r.chance(0.5) {
			break
		}
		if a.Src = netip.AddrFrom4([4]byte{10, 9, byte(r.Uint32()), byte(r.Uint32())}); s.v6 {
			six := end.peer.node.address(true).As16()
			six[7] ^= 1
			a.Src = netip.AddrFrom16(six)
		}
	case forgePartition:
		a.PKey ^= 1 << r.IntN(15)
	case forgeNoise:
		if r.chance(0.5) {
			a.DestQP = wire.QPN(r.Uint32() & wire.QPNMask)
		}
	}
	return a
}

// opcode returns any opcode that the receiver cannot mistake for a valid one of its peer.
func (f *forger) opcode(end *peerEnd) wire.Opcode {
	r := f.rng
	if f.forgery == forgeCNP {
		return wire.CNP
	}
	for {
		op := wire.Opcode(r.IntN(256))
		if f.forgery == forgeExtension {
			op = wire.Manufacturer + wire.Opcode(r.IntN(8))
		}
		t := op.Info().Transport
		switch own := f.forgery == forgeStranger || f.forgery == forgePartition; {
		case op.Info().Name == "":
		case t == wire.UC && end.session.service == transport.UC && !own:
		default:
			return op
		}
	}
}

// psn returns a PSN that no packet of the peer has now or later.
func (f *forger) psn(end *peerEnd) wire.PSN {
	r, at := f.rng, end.qp.Query()
	for {
		psn := wire.PSN(r.Uint32() & wire.PSNMask)
		if near := uint32(logUniform(r, 1, 1<<20)); r.chance(0.9) {
			psn = pick(r, at.RecvPSN, at.UnackedPSN).Add(wire.PSNMask + 1 - near)
			if r.chance(0.5) {
				psn = pick(r, end.peer.lastPSN(), end.lastPSN()).Add(near)
			}
		}
		if f.forgery == forgeStranger || f.forgery == forgePartition || !end.accepts(psn) {
			return psn
		}
	}
}

// accepts reports whether a packet with a PSN may be the peer's: an expected or later request, or a
// response to an outstanding or later packet.
func (end *peerEnd) accepts(psn wire.PSN) bool {
	at := end.qp.Query()
	return !psn.Before(at.RecvPSN) && !psn.After(end.peer.lastPSN()) ||
		!psn.Before(at.UnackedPSN.Add(wire.PSNMask)) && !psn.After(end.lastPSN())
}

// lastPSN returns a PSN beyond all that the end ever sends.
func (end *peerEnd) lastPSN() wire.PSN {
	n := end.packets() + afterFailure
	return end.psn.Add(uint32(n) + 64)
}

// tag returns the correct tag sometimes, in modes where the receiver does not act on it.
func (f *forger) tag(end *peerEnd, op wire.Opcode) uint16 {
	if !f.sim.plan.mode.hasAdmission() && f.rng.chance(0.5) {
		return end.tag
	}
	return end.tag ^ 1<<f.rng.IntN(16)
}

// maxReplayedRead is the largest READ request that is replayed. A responder must execute each
// duplicate in full (InfiniBand spec 9.7.5.1.2), which slows the simulation and tests little.
const maxReplayedRead = 16 << 10

// replay returns a packet that the peer has sent, modified as the forgery requires.
func (f *forger) replay(end *peerEnd) []byte {
	r := f.rng
	if end.session.service == transport.UC || end.peer.node.tap == nil { // UC accepts every PSN
		return nil
	}
	was, some := end.peer.node.tap.draw(r, end.qp.Num)
	if !some {
		return nil
	}
	frame := f.buf[:copy(f.buf[:], was)]
	var p wire.Packet
	if p.Parse(frame) != nil || p.Op == wire.RCReadRequest && p.RETH().Len.Get() > maxReplayedRead {
		return nil
	}
	switch f.forgery {
	case forgeBits:
		f.flip(frame[14:])
	case forgeSealed: // only packets that were acknowledged
		info := p.Op.Info()
		if end.session.service != transport.RC || end.accepts(p.PSN) ||
			info.Kind == wire.Extension ||
			p.Op == wire.XACK || int(p.End) == int(p.ExtOff) {
			return nil
		}
		f.flip(frame[p.ExtOff:p.End])
		var t wire.Template
		if t.Set(f.address(end)) != nil {
			return nil
		}
		t.Seal(frame)
	}
	return frame
}

// flip flips one to four bits.
func (f *forger) flip(b []byte) {
	for range uniform(f.rng, 1, 4) {
		bit := f.rng.IntN(8 * len(b))
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// arp returns an ARP request of a nonexistent host.
func (f *forger) arp(end *peerEnd) []byte {
	r := f.rng
	frame := f.buf[:60]
	clear(frame)
	mac, dst := [6]byte{2, 0xbb, 3: byte(r.Uint32()), 4: byte(r.Uint32()), 5: byte(r.Uint32())},
		end.node.host.NIC().Info().MAC
	copy(frame, dst[:])
	copy(frame[6:], mac[:])
	at := 12
	if tci := f.sim.plan.vlan; tci != 0 {
		binary.BigEndian.PutUint16(frame[at:], wire.EtherTypeVLAN)
		binary.BigEndian.PutUint16(frame[at+2:], tci)
		at += 4
	}
	binary.BigEndian.PutUint16(frame[at:], 0x0806)
	copy(frame[at+2:], []byte{0, 1, 8, 0, 6, 4, 0, 1})
	copy(frame[at+10:], mac[:])
	copy(frame[at+16:], []byte{10, 200, byte(r.Uint32()), byte(r.Uint32())})
	target := end.node.address(false).As4()
	copy(frame[at+26:], target[:])
	return frame
}
