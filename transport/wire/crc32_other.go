//go:build !amd64 || purego

package wire

import "hash/crc32"

// hasCopyCRC is whether copyCRC reads its source once.
const hasCopyCRC = false

// updateCRC continues crc over p, with the instructions that hash/crc32 selects.
func updateCRC(crc uint32, p []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, p) }

// icrc returns the invariant CRC of b, which reaches from the IP header to the pad.
func icrc(b []byte, v6 bool) uint32 { return icrcGeneric(b, v6) }

// copyCRC copies src to dst, which has its length, and continues crc over it. The two must not
// overlap.
func copyCRC(crc uint32, dst, src []byte) uint32 { return copyThenSum(crc, dst, src) }
