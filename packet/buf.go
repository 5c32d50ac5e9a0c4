package packet

import (
	"unsafe"

	"github.com/goroce/goroce/units"
)

// Buf is one frame in memory that a Port owns: from the Ethernet destination address to the last
// byte before the frame check sequence. It is a small value: copy it freely, but only one copy
// may be sent or freed.
type Buf struct {
	base     *byte
	len, cap uint32

	// Handle is the port's own name for the memory, such as the address of an mbuf.
	Handle uintptr

	// Time is when the frame arrived (after Recv) or when it left (after Send, when the port can
	// tell). 0 means unknown.
	Time units.Time
}

// MakeBuf is for implementations of Port: a Buf over mem, len(mem) bytes long, with room for
// cap(mem), under the port's own handle.
func MakeBuf(handle uintptr, mem []byte) Buf {
	return Buf{base: unsafe.SliceData(mem), len: uint32(len(mem)), cap: uint32(cap(mem)),
		Handle: handle}
}

// Data is the frame itself, no copy. Its capacity is the room the buffer has.
func (b *Buf) Data() []byte { return unsafe.Slice(b.base, b.cap)[:b.len] }

// Room is all the memory of the buffer, for the one who writes the frame.
func (b *Buf) Room() []byte { return unsafe.Slice(b.base, b.cap) }

// Len is the length of the frame in bytes.
func (b *Buf) Len() int { return int(b.len) }

// SetLen sets the length of the frame. It panics when the buffer has no such room: the writer
// asked Room before.
func (b *Buf) SetLen(n int) {
	if uint(n) > uint(b.cap) {
		panic("packet: frame longer than its buffer")
	}
	b.len = uint32(n)
}
