package packet

import (
	"unsafe"

	"github.com/goroce/goroce/units"
)

// Buf is one frame in memory that belongs to a Port, from the Ethernet destination address to the
// last byte before the frame check sequence. It is a small value and may be copied, but only one
// copy may be sent or freed.
type Buf struct {
	base     *byte
	len, cap uint32

	// Handle is the port's identifier of the buffer, such as the address of an mbuf.
	Handle uintptr

	// Time is when the frame arrived (after Recv), or when it left (after Send, if the port records
	// it). 0 means unknown.
	Time units.Time
}

// MakeBuf returns a Buf over mem, len(mem) bytes long with a capacity of cap(mem), that the port
// identifies by handle. It is for implementations of Port.
func MakeBuf(handle uintptr, mem []byte) Buf {
	return Buf{base: unsafe.SliceData(mem), len: uint32(len(mem)), cap: uint32(cap(mem)),
		Handle: handle}
}

// Data returns the frame without copying it. It has the buffer's capacity.
func (b *Buf) Data() []byte { return unsafe.Slice(b.base, b.cap)[:b.len] }

// Room returns all the memory of the buffer, for writing a frame.
func (b *Buf) Room() []byte { return unsafe.Slice(b.base, b.cap) }

// Len returns the length of the frame in bytes.
func (b *Buf) Len() int { return int(b.len) }

// SetLen sets the length of the frame. It panics when n exceeds len(Room()).
func (b *Buf) SetLen(n int) {
	if uint(n) > uint(b.cap) {
		panic("packet: frame longer than its buffer")
	}
	b.len = uint32(n)
}
