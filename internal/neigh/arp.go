package neigh

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/units"
)

// arp is an ARP packet for IPv4 over Ethernet (RFC 826 "Packet format").
type arp []byte

const (
	arpLen     = 28
	arpRequest = 1
	arpReply   = 2
)

// arpEthernetIPv4 is the first six bytes: hardware space Ethernet, protocol space IPv4, and the
// lengths of their addresses.
const arpEthernetIPv4 = 0x0001_0800_06_04

func (p arp) valid() bool {
	return len(p) >= arpLen && binary.BigEndian.Uint64(p)>>16 == arpEthernetIPv4 &&
		(p.operation() == arpRequest || p.operation() == arpReply)
}

func (p arp) operation() uint16    { return binary.BigEndian.Uint16(p[6:]) }
func (p arp) senderMAC() [6]byte   { return [6]byte(p[8:14]) }
func (p arp) senderIP() netip.Addr { return netip.AddrFrom4([4]byte(p[14:18])) }
func (p arp) targetIP() netip.Addr { return netip.AddrFrom4([4]byte(p[24:28])) }

func (p arp) set(
	operation uint16, mac [6]byte, ip netip.Addr, targetMAC [6]byte, target netip.Addr,
) {
	from, to := ip.As4(), target.As4()
	binary.BigEndian.PutUint64(p, arpEthernetIPv4<<16|uint64(operation))
	copy(p[8:], mac[:])
	copy(p[14:], from[:])
	copy(p[18:], targetMAC[:])
	copy(p[24:], to[:])
}

// receiveARP is "Packet Reception" of RFC 826.
func (t *Table) receiveARP(p arp, toUs bool, now units.Time) {
	if !p.valid() || !isUnicastMAC(p.senderMAC()) {
		t.counters.DropARPMalformed++
		return
	}
	mac, ip := p.senderMAC(), p.senderIP()
	forUs := t.Owns(p.targetIP())
	request := p.operation() == arpRequest
	if request {
		t.counters.ARPRequestsIn++
	} else {
		t.counters.ARPRepliesIn++
	}
	e, known := t.entries[ip]
	switch {
	case mac == t.mac:
		t.counters.Ignored++ // our own, back from somewhere
		return
	case known && e.state == own:
		t.counters.AddressConflicts++ // RFC 5227 section 2.4; we stay
		return
	case known && !request && toUs && forUs:
		t.confirm(e, mac, now)
	case known:
		t.hear(e, mac, now) // also announcements, RFC 5227 section 3
	// unspecified: an ARP probe, RFC 5227 section 2.1.1
	case request && forUs && !ip.IsUnspecified():
		t.learn(ip, mac, now)
	case !forUs || !request:
		t.counters.Ignored++
	}
	if request && forUs {
		t.sendARP(arpReply, mac, p.targetIP(), mac, ip)
	}
}

func (t *Table) sendARPRequest(e *Entry, src netip.Addr, unicast bool) {
	dst := broadcastMAC
	if unicast {
		dst = e.mac
	}
	t.sendARP(arpRequest, dst, src, [6]byte{}, e.ip)
}

func (t *Table) sendARP(
	operation uint16, dst [6]byte, src netip.Addr, targetMAC [6]byte, target netip.Addr,
) {
	p := arp(t.build(dst, etherARP, arpLen, QueueDepth))
	if p == nil {
		return
	}
	p.set(operation, t.mac, src, targetMAC, target)
	if operation == arpRequest {
		t.counters.ARPRequestsOut++
	} else {
		t.counters.ARPRepliesOut++
	}
}
