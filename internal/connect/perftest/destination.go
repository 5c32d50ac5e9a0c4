package perftest

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
)

// destinationLen is the length of a Destination on the wire, bytes.
const destinationLen = 108

// What stands in a Destination, each as so many hexadecimal digits with a colon behind.
const (
	gidField  = 6
	srqnField = gidField + 16
	allFields = srqnField + 1
)

// field answers the name and the digits of field i.
func field(i int) (name string, digits int) {
	switch {
	case i < gidField:
		return [...]string{"LID", "outstanding READs", "QPN", "PSN", "rkey", "address"}[i],
			[...]int{4, 4, 6, 6, 8, 16}[i]
	case i < srqnField:
		return fmt.Sprintf("GID byte %d", i-gidField), 2
	}
	return "SRQN", 8
}

// Destination is one queue pair of a side, and the memory behind it (perftest's keys).
type Destination struct {
	LID      uint16     // 0 with RoCE
	OutReads uint16     // outstanding READs and atomics that the side takes, 1 for send and write
	QPN      uint32     // 24 bits
	PSN      uint32     // of the first packet it will send, 24 bits
	RKey     uint32     // 0 when the peer may not write, read or do atomics
	Addr     uint64     // where it may
	GID      netip.Addr // IPv4 stands in it as ::ffff:a.b.c.d
	SRQN     uint32     // 0 without XRC and DC
	GIDIndex uint32     // with -R alone, and of no use there
}

// check says what no message can carry.
func (d Destination) check() error {
	switch {
	case d.QPN > 0xffffff || d.PSN > 0xffffff:
		return malformed("QPN %#x or PSN %#x has more than 24 bits", d.QPN, d.PSN)
	case !d.GID.IsValid():
		return malformed("queue pair %#x has no GID", d.QPN)
	}
	return nil
}

// Encode makes the message that carries d.
func (d Destination) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	b := fmt.Appendf(nil, "%04x:%04x:%06x:%06x:%08x:%016x:", d.LID, d.OutReads, d.QPN, d.PSN,
		d.RKey, d.Addr)
	for _, g := range d.GID.As16() {
		b = fmt.Appendf(b, "%02x:", g)
	}
	return fmt.Appendf(b, "%08x:\x00", d.SRQN), nil
}

// DecodeDestination reads a message of destinationLen bytes.
func DecodeDestination(b []byte) (Destination, error) {
	var d Destination
	if len(b) != destinationLen {
		return d, malformed("%d bytes, not the %d of keys", len(b), destinationLen)
	}
	words := bytes.Split(b, []byte(":"))
	if len(words) != allFields+1 || string(words[allFields]) != "\x00" {
		return d, malformed("keys %q, not %d hexadecimal fields with a colon behind each, and a "+
			"zero byte", b, allFields)
	}
	var values [allFields]uint64
	for i := range values {
		var err error
		name, digits := field(i)
		if values[i], err = strconv.ParseUint(string(words[i]), 16, 64); err != nil ||
			len(words[i]) != digits {
			return d, malformed("keys with %s %q, not %d hexadecimal digits", name, words[i],
				digits)
		}
	}
	var gid [16]byte
	for i := range gid {
		gid[i] = byte(values[gidField+i])
	}
	d = Destination{
		LID: uint16(values[0]), OutReads: uint16(values[1]), QPN: uint32(values[2]),
		PSN:  uint32(values[3]),
		RKey: uint32(values[4]), Addr: values[5], GID: netip.AddrFrom16(gid).Unmap(),
		SRQN: uint32(values[srqnField]),
	}
	if d.GID.IsUnspecified() {
		return Destination{}, malformed("keys of queue pair %#x without a GID", d.QPN)
	}
	return d, nil
}
