package neigh

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/units"
)

const (
	ipv6Len        = 40
	protocolICMPv6 = 58

	icmp6EchoRequest   = 128 // RFC 4443 section 4.1
	icmp6EchoReply     = 129 // RFC 4443 section 4.2
	icmp6Solicitation  = 135 // RFC 4861 section 4.3
	icmp6Advertisement = 136 // RFC 4861 section 4.4
)

// ipv6 is an IPv6 header (RFC 8200 section 3).
type ipv6 []byte

func (h ipv6) payloadLen() int    { return int(binary.BigEndian.Uint16(h[4:])) }
func (h ipv6) nextHeader() uint8  { return h[6] }
func (h ipv6) hopLimit() uint8    { return h[7] }
func (h ipv6) source() netip.Addr { return netip.AddrFrom16([16]byte(h[8:24])) }
func (h ipv6) dest() netip.Addr   { return netip.AddrFrom16([16]byte(h[24:40])) }

// receiveIPv6 handles neighbour discovery and echo requests and reports false for all other
// packets.
func (t *Table) receiveIPv6(mac [6]byte, packet []byte, toUs bool, now units.Time) bool {
	h := ipv6(packet)
	if len(h) <= ipv6Len || h.nextHeader() != protocolICMPv6 {
		return false
	}
	kind := packet[ipv6Len]
	discovery := kind == icmp6Solicitation || kind == icmp6Advertisement
	if !discovery && (kind != icmp6EchoRequest || !toUs || !t.Owns(h.dest())) {
		return false
	}
	end := ipv6Len + h.payloadLen()
	if h[0]>>4 != 6 || end > len(packet) {
		t.counters.DropIPv6Malformed++
		return true
	}
	message := packet[ipv6Len:end]
	switch {
	case len(message) < icmpLen || message[1] != 0:
		t.counters.DropICMPv6Malformed++
	case fold(sum6(h, message)) != 0:
		t.counters.DropICMPv6Checksum++
	case discovery:
		t.receiveDiscovery(h, message, now)
	case !isUnicast(h.source()):
		t.counters.DropEchoSource++
	default:
		t.sendEcho6(mac, h, message)
	}
	return true
}

// sendEcho6 sends an echo reply to the sender of a request (RFC 4443 section 4.2).
func (t *Table) sendEcho6(mac [6]byte, request ipv6, message []byte) {
	if ipv6Len+len(message) > maxPacket {
		t.counters.DropEchoTooLong++
		return
	}
	echo := t.build6(mac, request.dest(), request.source(), len(message), ttl, echoDepth)
	if echo == nil {
		return
	}
	copy(echo, message)
	echo[0] = icmp6EchoReply
	t.finish6(echo, request.dest(), request.source())
	t.counters.EchoReplies6++
}

// build6 queues an ICMPv6 message of n bytes and returns these bytes.
func (t *Table) build6(mac [6]byte, src, dst netip.Addr, n int, hops uint8, depth int) []byte {
	p := t.build(mac, etherIPv6, ipv6Len+n, depth)
	if p == nil {
		return nil
	}
	from, to := src.As16(), dst.As16()
	binary.BigEndian.PutUint32(p, 6<<28)
	binary.BigEndian.PutUint16(p[4:], uint16(n))
	p[6], p[7] = protocolICMPv6, hops
	copy(p[8:], from[:])
	copy(p[24:], to[:])
	return p[ipv6Len:]
}

// finish6 fills in the checksum of a message (RFC 4443 section 2.3).
func (t *Table) finish6(message []byte, src, dst netip.Addr) {
	from, to := src.As16(), dst.As16()
	message[2], message[3] = 0, 0
	acc := sum(to[:], sum(from[:], uint64(len(message))+protocolICMPv6))
	binary.BigEndian.PutUint16(message[2:], fold(sum(message, acc)))
}
