package shaper

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// The base transport header and what of it is looked at here (InfiniBand specification 9.2; annex
// A17.9.3 for the CNP).
const (
	bthSize   = 12
	becnAt    = 4 // FECN, BECN, and reserved bits
	becn      = 0x40
	opcodeAck = 0x11 // RC ACKNOWLEDGE
	opcodeCNP = 0x81
	cnpSize   = 16 // of zeros behind the header
	icrcSize  = 4
)

// notify emits a CNP when this packet is an acknowledgement and the other direction has marked one
// since the last CNP.
func (d *direction) notify(frame, payload []byte, emit func([]byte)) {
	if d.told == nil || len(payload) < bthSize || payload[0] != opcodeAck ||
		!d.told.marked.Swap(false) {
		return
	}
	d.counts.Notified++
	emit(cnpBeside(frame, cap(frame)-cap(payload))) // the payload is a part of the frame
}

// cnpBeside makes the congestion notification packet that the sender of an acknowledgement would
// send to the same queue pair. The acknowledgement's base transport header is at bth.
func cnpBeside(ack []byte, bth int) []byte {
	f := append(bytes.Clone(ack[:bth+4]), becn) // with the acknowledgement's partition
	f = append(f, ack[bth+5:bth+8]...)          // and queue pair
	f = append(f, make([]byte, bthSize-8)...)   // PSN 0
	f = append(f, make([]byte, cnpSize+icrcSize)...)
	f[bth], f[bth+1] = opcodeCNP, 0
	ip, udp := f[ethernetSize:], f[bth-udpSize:]
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	clear(udp[6:8]) // no checksum
	if ipv6(f) {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		setChecksum(ip[:bth-udpSize-ethernetSize])
	}
	binary.LittleEndian.PutUint32(f[len(f)-icrcSize:], icrc(f))
	return f
}

// icrc is the invariant CRC of a frame that ends with it (annex A17.3.3): Ethernet's CRC over 8
// bytes of ones, then IP's header and all behind it; what may change on the way counts as ones.
func icrc(frame []byte) uint32 {
	const noRouteHeader = 8
	b := append(bytes.Repeat([]byte{0xff}, noRouteHeader),
		frame[ethernetSize:len(frame)-icrcSize]...)
	ip := b[noRouteHeader:]
	udp := ip[ipv4Size:]
	if ipv6(frame) {
		udp = ip[ipv6Size:]
		ip[0] |= 0x0f // traffic class and flow label
		ones(ip[1:4])
		ones(ip[7:8]) // hop limit
	} else {
		ones(ip[1:2]) // TOS
		ones(ip[8:9]) // time to live
		ones(ip[checksumAt : checksumAt+2])
	}
	ones(udp[6:8]) // checksum
	ones(udp[udpSize+becnAt:][:1])
	return crc32.ChecksumIEEE(b)
}

func ones(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}
