package dpdk

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/mbuf"
	"github.com/goroce/goroce/packet"
)

// Addresses become memory and memory addresses in this file only. It is sound because mbufs lie
// outside Go's heap, never move, and are not unmapped while one of them is in use.

// at returns the memory at an address. The indirection avoids a false positive of vet.
func at(address uintptr, length, room uint32) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), room)[:length]
}

// fresh makes Bufs of the mbufs that Alloc put into the burst.
func (q *Queue) fresh(bufs []packet.Buf) {
	for i := range bufs {
		handle := q.burst.Handle[i]
		bufs[i] = packet.MakeBuf(handle, at(handle+mbuf.FrameOffset, 0, q.room))
	}
}

// received makes Bufs of the frames that RxBurst put into the burst.
func (q *Queue) received(bufs []packet.Buf) {
	b := &q.burst
	for i := range bufs {
		bufs[i] = packet.MakeBuf(b.Handle[i], at(b.Data[i], b.Len[i], b.Room[i]))
	}
	if q.stamps != nil {
		for i := range bufs {
			bufs[i].Time = q.clock.time(b.Stamp[i])
		}
	}
}

// describe puts bufs into the burst for TxBurst.
func (q *Queue) describe(bufs []packet.Buf) {
	b := &q.burst
	for i := range bufs {
		b.Handle[i] = bufs[i].Handle
		b.Data[i] = uintptr(unsafe.Pointer(unsafe.SliceData(bufs[i].Room())))
		b.Len[i] = uint32(bufs[i].Len())
	}
}
