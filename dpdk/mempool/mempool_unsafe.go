package mempool

/*
#cgo pkg-config: libdpdk
#include <stdlib.h>
#include <rte_mempool.h>
#include <rte_mbuf.h>
#include "pool.h"
*/
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
)

// Headroom is the space in front of a frame that drivers may use.
const Headroom = int(C.RTE_PKTMBUF_HEADROOM)

// MaxRoom is the longest frame that a buffer can be made for.
const MaxRoom = 65535 - Headroom

// cacheSize is the largest number of free buffers in the cache of a thread: a few bursts, so that
// the shared ring is accessed rarely.
const cacheSize = 256

// Mempool is a pool of mbufs.
type Mempool C.struct_rte_mempool

// Config describes a pool.
type Config struct {
	Buffers int // number of buffers; 2^n-1 wastes no memory
	Room    int // longest frame in bytes, without Headroom

	// EALMemory requires memory that EAL manages: devices with DMA need it, and drivers that
	// register memory with the kernel.
	EALMemory bool
}

// CreateMbufPool returns a new pool. It must run inside eal.Call.
func CreateMbufPool(name string, c Config) (*Mempool, error) {
	if c.Buffers < 1 || c.Room < 64 || c.Room > MaxRoom {
		return nil, fmt.Errorf("mempool %s: %d buffers of %d bytes: out of range",
			name, c.Buffers, c.Room)
	}
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	own := C.int(0)
	if !c.EALMemory && !eal.HasHugepages() {
		own = 1
	}
	// An eighth, so that the caches of eight threads cannot empty a whole pool.
	cache := min(cacheSize, c.Buffers/8)
	var errno C.int
	p := C.gr_pool_create(s, C.uint(c.Buffers), C.uint(cache), C.uint(c.Room+Headroom), own, &errno)
	if p == nil {
		return nil, fmt.Errorf("mempool %s: %d buffers of %d bytes: %w",
			name, c.Buffers, c.Room, syscall.Errno(errno))
	}
	return (*Mempool)(p), nil
}

// AvailCount returns the number of free buffers, including those in the caches of threads.
func (p *Mempool) AvailCount() int { return int(C.rte_mempool_avail_count(p.c())) }

// Size returns the number of buffers.
func (p *Mempool) Size() int { return int(p.c().size) }

// Room returns the length of the longest frame.
func (p *Mempool) Room() int { return int(C.rte_pktmbuf_data_room_size(p.c())) - Headroom }

// Free releases the memory. All buffers must have been freed. It must run inside eal.Call.
func (p *Mempool) Free() { C.rte_mempool_free(p.c()) }

// Pointer returns the pool's address, for the sibling packages.
func (p *Mempool) Pointer() unsafe.Pointer { return unsafe.Pointer(p) }

func (p *Mempool) c() *C.struct_rte_mempool { return (*C.struct_rte_mempool)(p) }
