package wire

import "encoding/binary"

// Network byte order, in the short names that the views read well with.

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

func putBE16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }
func putBE32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }

// be24 reads the lower 24 bits of a word whose upper 8 are another field.
func be24(b []byte) uint32 { return be32(b) & (1<<24 - 1) }
