package mbuf

/*
#cgo pkg-config: libdpdk
#cgo noescape gr_alloc
#cgo nocallback gr_alloc
#cgo noescape gr_free
#cgo nocallback gr_free
#include "pool.h"
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/mempool"
)

// Max is the largest number of mbufs in one call.
const Max = int(C.GR_BURST)

// Burst is up to Max mbufs with their properties that Go uses. A frame is described by its address,
// length and room; Handle is the address of the mbuf itself.
type Burst struct {
	Handle [Max]uintptr
	Data   [Max]uintptr
	Len    [Max]uint32
	Room   [Max]uint32
	Stamp  [Max]uint64 // time of arrival, by the device's clock; see ethdev.Stamps
}

// The two layouts must be equal: both differences are 0.
const (
	_ = uint(unsafe.Sizeof(Burst{}) - C.sizeof_struct_gr_burst)
	_ = uint(C.sizeof_struct_gr_burst - unsafe.Sizeof(Burst{}))
)

// Alloc fills b.Handle with up to n ≤ Max empty mbufs and returns how many; fewer when the pool is
// exhausted. The frame of such an mbuf begins at FrameOffset.
func Alloc(pool *mempool.Mempool, b *Burst, n int) int {
	p := (*C.struct_rte_mempool)(pool.Pointer())
	return int(C.gr_alloc(p, (*C.struct_gr_burst)(unsafe.Pointer(b)), C.uint(n)))
}

// Free gives the first n of b.Handle back to the pools they came from. None may be 0.
func Free(b *Burst, n int) {
	if n > 0 {
		C.gr_free((*C.struct_gr_burst)(unsafe.Pointer(b)), C.uint(n))
	}
}

// FrameOffset is the distance from the handle of a fresh mbuf to its frame.
const FrameOffset = uintptr(C.sizeof_struct_rte_mbuf) + uintptr(mempool.Headroom)
