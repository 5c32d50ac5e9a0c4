package main

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
)

func init() {
	register(campaign{
		name: "flood-neighbours",
		about: "clients connect while others, of invented addresses, ask for the host's by ARP " +
			"and IPv6, and end CM connections",
		rounds: 120,
		full:   700,
		run: func(r *run) error {
			f := new(strangers)
			return runFlood(r, attack{begin: f.begin, frame: f.frame}, callByTCP)
		},
		peer: floodPeer,
	})
}

// strangers is ARP requests, neighbour solicitations and DREQs, each of another source.
type strangers struct{ mac packet.MAC }

func (f *strangers) begin(mac packet.MAC, _ netip.AddrPort) error {
	f.mac = mac
	return nil
}

func (f *strangers) frame(i int, room []byte) int {
	mac, ip := spoofed(i)
	switch i % 3 {
	case 0:
		return arpRequest(room, mac, ip)
	case 1:
		return solicitation(room, mac)
	}
	return management(room, mac, f.mac, ip, &rdmacm.DREQ{LocalID: 1, RemoteID: rdmacm.CommID(i)})
}

const leastFrame = 60 // of Ethernet, without its check sequence

// arpRequest asks for the attacked host (RFC 826).
func arpRequest(room []byte, mac packet.MAC, ip netip.Addr) int {
	frame := room[:leastFrame]
	clear(frame)
	copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	copy(frame[6:], mac[:])
	// type, and what the addresses are of
	binary.BigEndian.PutUint64(frame[12:], 0x0806_0001_0800_0604)
	frame[21] = 1 // request
	copy(frame[22:], mac[:])
	copy(frame[28:], ip.AsSlice())
	copy(frame[38:], attacked4.Addr().AsSlice())
	return len(frame)
}

// solicitation asks for the attacked host by IPv6 (RFC 4861 section 4.3).
func solicitation(room []byte, mac packet.MAC) int {
	const ethernet, ip, length = 14, 40, 32
	frame := room[:ethernet+ip+length]
	clear(frame)
	target := attacked6.Addr().As16()
	copy(frame, []byte{0x33, 0x33, 0xff, target[13], target[14], target[15]})
	copy(frame[6:], mac[:])
	binary.BigEndian.PutUint16(frame[12:], 0x86dd)
	header, message := frame[ethernet:ethernet+ip], frame[ethernet+ip:]
	// version, ICMPv6, and from no farther than the link
	header[0], header[5], header[6], header[7] = 6<<4, length, 58, 255
	source := target
	copy(source[8:], []byte{0x66, 0x66})
	copy(source[10:], mac[:])
	copy(header[8:], source[:])
	copy(header[24:], []byte{0xff, 0x02, 11: 1, 12: 0xff, 13: target[13], 14: target[14],
		15: target[15]})
	message[0] = 135
	copy(message[8:], target[:])
	message[24], message[25] = 1, 1 // our Ethernet address, in eight bytes
	copy(message[26:], mac[:])
	sum := uint32(length + 58)
	for rest := frame[ethernet+8:]; len(rest) > 0; rest = rest[2:] {
		sum += uint32(binary.BigEndian.Uint16(rest))
	}
	for sum>>16 > 0 {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(message[2:], ^uint16(sum))
	return len(frame)
}
