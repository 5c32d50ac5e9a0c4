package rdmacm

import (
	"encoding/binary"
	"net/netip"
)

var be = binary.BigEndian

// put24 writes a 24-bit number and the byte after it.
func put24[N ~uint32](b []byte, v N, low uint8) { be.PutUint32(b, uint32(v)<<8|uint32(low)) }

func get24(b []byte) (v uint32, low uint8) { return be.Uint32(b) >> 8, b[3] }

// putIDs writes the two connection IDs at the start of every message except a REQ.
func putIDs(b []byte, local, remote CommID) {
	be.PutUint32(b, uint32(local))
	be.PutUint32(b[4:], uint32(remote))
}

func getIDs(b []byte) (local, remote CommID) {
	return CommID(be.Uint32(b)), CommID(be.Uint32(b[4:]))
}

// putGID writes an address as a GID: an IPv4 address mapped into IPv6 (annex A17), zeros for none.
func putGID(b []byte, ip netip.Addr) {
	gid := ip.As16()
	copy(b, gid[:])
}

func getGID(b []byte) netip.Addr {
	gid := [16]byte(b)
	if gid == [16]byte{} {
		return netip.Addr{}
	}
	return netip.AddrFrom16(gid).Unmap()
}

func bit(on bool, shift uint) uint8 {
	if on {
		return 1 << shift
	}
	return 0
}

// normalizeIP returns an address in the form used for comparison.
func normalizeIP(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }
