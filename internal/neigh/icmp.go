package neigh

import (
	"encoding/binary"
	"net/netip"
)

const (
	ipv4Len      = 20
	protocolICMP = 1
	ttl          = 64 // RFC 1700 "IP time to live parameter"

	icmpLen         = 8
	icmpEchoReply   = 0 // RFC 792 "Echo or Echo Reply Message"
	icmpEchoRequest = 8
)

// ipv4 is an IPv4 header (RFC 791 section 3.1).
type ipv4 []byte

func (h ipv4) headerLen() int     { return int(h[0]&0xf) * 4 }
func (h ipv4) totalLen() int      { return int(binary.BigEndian.Uint16(h[2:])) }
func (h ipv4) fragment() bool     { return binary.BigEndian.Uint16(h[6:])&0x3fff != 0 }
func (h ipv4) protocol() uint8    { return h[9] }
func (h ipv4) source() netip.Addr { return netip.AddrFrom4([4]byte(h[12:16])) }
func (h ipv4) dest() netip.Addr   { return netip.AddrFrom4([4]byte(h[16:20])) }

// receiveIPv4 replies to echo requests and reports false for all other packets.
func (t *Table) receiveIPv4(mac [6]byte, packet []byte) bool {
	h := ipv4(packet)
	if len(h) < ipv4Len || h.protocol() != protocolICMP || !t.Owns(h.dest()) {
		return false
	}
	n := h.headerLen()
	if h[0]>>4 != 4 || n < ipv4Len || h.totalLen() < n || h.totalLen() > len(h) {
		t.counters.DropIPv4Malformed++
		return true
	}
	if fold(sum(h[:n], 0)) != 0 {
		t.counters.DropIPv4Checksum++
		return true
	}
	message := packet[n:h.totalLen()]
	switch {
	case h.fragment():
		t.counters.DropICMPFragment++ // of any ICMP type
	case len(message) > 0 && message[0] != icmpEchoRequest:
		return false
	case len(message) < icmpLen || message[1] != 0:
		t.counters.DropICMPMalformed++
	case fold(sum(message, 0)) != 0:
		t.counters.DropICMPChecksum++
	case !isUnicast(h.source()):
		t.counters.DropEchoSource++
	default:
		t.sendEcho4(mac, h, message)
	}
	return true
}

// sendEcho4 sends an echo reply to the sender of a request (RFC 792 "Echo or Echo Reply Message",
// RFC 1122 section 3.2.2.6), without the IP options of the request.
func (t *Table) sendEcho4(mac [6]byte, request ipv4, message []byte) {
	if ipv4Len+len(message) > maxPacket {
		t.counters.DropEchoTooLong++
		return
	}
	p := t.build(mac, etherIPv4, ipv4Len+len(message), echoDepth)
	if p == nil {
		return
	}
	p[0], p[1] = 0x45, request[1]
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	binary.BigEndian.PutUint32(p[4:], 0x4000) // ID 0, do not fragment: RFC 6864 section 4.1
	p[8], p[9] = ttl, protocolICMP
	p[10], p[11] = 0, 0
	copy(p[12:16], request[16:20])
	copy(p[16:20], request[12:16])
	binary.BigEndian.PutUint16(p[10:], fold(sum(p[:ipv4Len], 0)))

	echo := p[ipv4Len:]
	copy(echo, message)
	echo[0], echo[2], echo[3] = icmpEchoReply, 0, 0
	binary.BigEndian.PutUint16(echo[2:], fold(sum(echo, 0)))
	t.counters.EchoReplies4++
}

// maxPacket is the length of the longest IP packet in a tagged frame of ours.
const maxPacket = maxFrame - etherLen - tagLen
