package engine

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/verbs/protocol"
)

// word returns the 32-bit word at an offset.
func (m *shared) word(offset int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&m.bytes[offset]))
}

// words returns n 32-bit words from an offset.
func (m *shared) words(offset, n int) []atomic.Uint32 {
	_ = m.bytes[offset+4*n-1]
	return unsafe.Slice(m.word(offset), n)
}

// The following copy a struct out of a slot, so that what is checked is what is used.

func readWQE(slot []byte) protocol.WQE {
	_ = slot[unsafe.Sizeof(protocol.WQE{})-1]
	return *(*protocol.WQE)(unsafe.Pointer(&slot[0]))
}

func readRQE(slot []byte) protocol.RQE {
	_ = slot[unsafe.Sizeof(protocol.RQE{})-1]
	return *(*protocol.RQE)(unsafe.Pointer(&slot[0]))
}

func readSGE(slot []byte) protocol.SGE {
	_ = slot[unsafe.Sizeof(protocol.SGE{})-1]
	return *(*protocol.SGE)(unsafe.Pointer(&slot[0]))
}

func readUint64(slot []byte) uint64 {
	_ = slot[7]
	return *(*uint64)(unsafe.Pointer(&slot[0]))
}

// cqHead returns the head of a completion queue's memory.
func (m *shared) cqHead() (head, armed, waiting *atomic.Uint32) {
	return m.word(0), m.word(4), m.word(8)
}

// wakeWaiter wakes a thread of the program that waits for a completion.
func wakeWaiter(waiting *atomic.Uint32) {
	if waiting.Load() != 1 || !waiting.CompareAndSwap(1, 0) {
		return
	}
	const futexWake = 1
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(waiting)), futexWake, 1, 0, 0,
		0)
}

// cqes returns the ring of a completion queue's memory.
func (m *shared) cqes(n int) []protocol.CQE {
	const offset = int(unsafe.Sizeof(protocol.CQHead{}))
	_ = m.bytes[offset+n*int(unsafe.Sizeof(protocol.CQE{}))-1]
	return unsafe.Slice((*protocol.CQE)(unsafe.Pointer(&m.bytes[offset])), n)
}

func cqSize(entries int) int {
	return int(unsafe.Sizeof(protocol.CQHead{})) + entries*int(unsafe.Sizeof(protocol.CQE{}))
}

// publish makes a completion valid, after its other fields.
func publish(e *protocol.CQE, sequence uint32) {
	(*atomic.Uint32)(unsafe.Pointer(&e.Sequence)).Store(sequence)
}

// local returns n bytes of this process at an address.
func local(addr, n uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), int(n))
}
