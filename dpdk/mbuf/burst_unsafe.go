package mbuf

/*
#cgo pkg-config: libdpdk
#include "pool.h"

struct gr_pool_args {
	struct rte_mempool *pool;
	struct gr_burst *b;
	uint32_t n, got;
};

static void gr_alloc_call(void *p)
{
	struct gr_pool_args *a = p;
	a->got = gr_alloc(a->pool, a->b, a->n);
}

static void gr_free_call(void *p)
{
	struct gr_pool_args *a = p;
	gr_free(a->b, a->n);
}

static void *gr_alloc_fn(void) { return gr_alloc_call; }
static void *gr_free_fn(void) { return gr_free_call; }
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/ccall"
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

// poolArgs has the layout of the struct above.
type poolArgs struct {
	pool   unsafe.Pointer
	b      *Burst
	n, got uint32
}

var alloc, free = C.gr_alloc_fn(), C.gr_free_fn()

// The layouts must be equal: the differences are 0.
const (
	_ = uint(unsafe.Sizeof(poolArgs{}) - C.sizeof_struct_gr_pool_args)
	_ = uint(C.sizeof_struct_gr_pool_args - unsafe.Sizeof(poolArgs{}))
	_ = uint(unsafe.Sizeof(Burst{}) - C.sizeof_struct_gr_burst)
	_ = uint(C.sizeof_struct_gr_burst - unsafe.Sizeof(Burst{}))
)

// Alloc fills b.Handle with up to n ≤ Max empty mbufs and returns how many; fewer when the pool
// is exhausted. The frame of such an mbuf begins at FrameOffset.
func Alloc(pool *mempool.Mempool, b *Burst, n int) int {
	a := poolArgs{pool: pool.Pointer(), b: b, n: uint32(n)}
	ccall.Call(alloc, unsafe.Pointer(&a))
	return int(a.got)
}

// Free gives the first n of b.Handle back to the pools they came from. None may be 0.
func Free(b *Burst, n int) {
	if n > 0 {
		a := poolArgs{b: b, n: uint32(n)}
		ccall.Call(free, unsafe.Pointer(&a))
	}
}

// FrameOffset is the distance from the handle of a fresh mbuf to its frame.
const FrameOffset = uintptr(C.sizeof_struct_rte_mbuf) + uintptr(mempool.Headroom)
