package pingpong

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
)

// destinationLen is the length of a Destination on the wire, bytes.
const destinationLen = len("0000:000000:000000:") + 2*16 + 1

// Destination is the queue pair of a side, and where it is.
type Destination struct {
	LID uint16     // 0 with RoCE
	QPN uint32     // 24 bits
	PSN uint32     // of the first packet it will send, 24 bits
	GID netip.Addr // IPv4 stands in it as ::ffff:a.b.c.d
}

// Encode makes the message that carries d.
func (d Destination) Encode() ([]byte, error) {
	switch {
	case d.QPN > 0xffffff || d.PSN > 0xffffff:
		return nil, malformed("QPN %#x or PSN %#x has more than 24 bits", d.QPN, d.PSN)
	case !d.GID.IsValid() || d.GID.IsUnspecified():
		return nil, malformed("queue pair %#x has no GID", d.QPN)
	}
	gid := d.GID.As16()
	return fmt.Appendf(nil, "%04x:%06x:%06x:%x\x00", d.LID, d.QPN, d.PSN, gid[:]), nil
}

// Decode reads a message of destinationLen bytes. What no side of the handshake would send is
// ErrNotPingpong, an impossible value ErrMalformed.
func Decode(b []byte) (Destination, error) {
	var d Destination
	words := bytes.Split(b, []byte(":"))
	if len(b) != destinationLen || len(words) != 4 || b[destinationLen-1] != 0 {
		return d, fmt.Errorf(
			"pingpong: %d bytes %.60q, not %d that read LID:QPN:PSN:GID and a zero byte: %w",
			len(b), b, destinationLen, ErrNotPingpong)
	}
	var numbers [3]uint64
	for i, name := range [...]string{"LID", "QPN", "PSN"} {
		digits := [...]int{4, 6, 6}[i]
		var err error
		if numbers[i], err = strconv.ParseUint(string(words[i]), 16, 4*digits); err != nil ||
			len(words[i]) != digits {
			return d, malformed("%s %q, not %d hexadecimal digits", name, words[i], digits)
		}
	}
	var gid [16]byte
	if _, err := hex.Decode(gid[:], words[3][:len(words[3])-1]); err != nil {
		return d, malformed("GID %q, not 32 hexadecimal digits", words[3])
	}
	d = Destination{
		LID: uint16(numbers[0]), QPN: uint32(numbers[1]), PSN: uint32(numbers[2]),
		GID: netip.AddrFrom16(gid).Unmap(),
	}
	if d.GID.IsUnspecified() {
		return Destination{}, malformed("queue pair %#x without a GID: RoCE needs -g there", d.QPN)
	}
	return d, nil
}
