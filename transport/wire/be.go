package wire

import "encoding/binary"

// The numbers in headers have network byte order and no alignment: they are arrays of bytes, so
// that a struct of them has the layout of the specification's figure.

// BE16 is a 16-bit number in network byte order.
type BE16 [2]byte

// Get returns the number.
func (n *BE16) Get() uint16 { return binary.BigEndian.Uint16(n[:]) }

// Set writes the number.
func (n *BE16) Set(v uint16) { binary.BigEndian.PutUint16(n[:], v) }

// BE24 is a 24-bit number in network byte order.
type BE24 [3]byte

// Get returns the number.
func (n *BE24) Get() uint32 { return uint32(n[0])<<16 | uint32(n[1])<<8 | uint32(n[2]) }

// Set writes the lower 24 bits of v.
func (n *BE24) Set(v uint32) { n[0], n[1], n[2] = byte(v>>16), byte(v>>8), byte(v) }

// BE32 is a 32-bit number in network byte order.
type BE32 [4]byte

// Get returns the number.
func (n *BE32) Get() uint32 { return binary.BigEndian.Uint32(n[:]) }

// Set writes the number.
func (n *BE32) Set(v uint32) { binary.BigEndian.PutUint32(n[:], v) }

// BE64 is a 64-bit number in network byte order.
type BE64 [8]byte

// Get returns the number.
func (n *BE64) Get() uint64 { return binary.BigEndian.Uint64(n[:]) }

// Set writes the number.
func (n *BE64) Set(v uint64) { binary.BigEndian.PutUint64(n[:], v) }
