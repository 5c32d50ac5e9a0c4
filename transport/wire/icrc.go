package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/goroce/goroce/internal/extension"
)

// The invariant CRC (IB 7.8.1, A17.3.3) is Ethernet's CRC-32 over 8 bytes of ones, in place of the
// local route header that RoCEv2 does not have, and everything from the IP header to the pad. Bits
// that routers and switches may change count as ones: in IPv4 TOS, TTL and checksum; in IPv6
// traffic class, flow label and hop limit; UDP's checksum; and byte 4 of the BTH (FECN, BECN,
// reserved). It is stored least significant byte first.

// lrhState is the CRC of the 8 bytes of ones.
const lrhState uint32 = ^uint32(0xdebb20e3)

// maskLen is the number of bytes from the IP header on that contain all bits that count as ones, in
// both families.
const maskLen = 64

// The masks of IPv4, UDP and BTH, and of IPv6, UDP and BTH.
var (
	mask4 = [maskLen]byte{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: 0xff}
	mask6 = [maskLen]byte{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 46: 0xff, 47: 0xff, 52: 0xff}
)

// icrcGeneric is the portable icrc. It masks the headers byte by byte, so that it neither changes
// nor copies them.
func icrcGeneric(b []byte, v6 bool) uint32 {
	mask := &mask4
	if v6 {
		mask = &mask6
	}
	crc := ^lrhState
	n := min(len(b), maskLen)
	for i, v := range b[:n] {
		crc = crc32.IEEETable[byte(crc)^(v|mask[i])] ^ crc>>8
	}
	return crc32.Update(^crc, crc32.IEEETable, b[n:])
}

// ones replace the content of an INT or Bolt TLV, which switches change.
var ones = [extension.MaxINTLen]byte(bytes.Repeat([]byte{0xff}, extension.MaxINTLen))

// icrcXDATA returns the invariant CRC of an XDATA, whose BTH is at offset bth of b. The bytes of an
// INT or Bolt TLV behind its type and length count as ones.
func icrcXDATA(b []byte, bth int, v6 bool) uint32 {
	at := bth + tlvOffset
	n := extension.WrittenLen(b[min(at, len(b)):])
	if n == 0 {
		return icrc(b, v6)
	}
	crc := icrc(b[:at+extension.TLVHeaderLen], v6)
	crc = updateCRC(crc, ones[:n-extension.TLVHeaderLen])
	return updateCRC(crc, b[at+n:])
}

// copyThenSum is copyCRC in two passes. It sums what is at dst, because another thread may have
// changed src since.
func copyThenSum(crc uint32, dst, src []byte) uint32 {
	copy(dst, src)
	return updateCRC(crc, dst)
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
