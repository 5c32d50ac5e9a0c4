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

// Headroom is the space a driver may want in front of a frame.
const Headroom = int(C.RTE_PKTMBUF_HEADROOM)

// MaxRoom is the longest frame a buffer can be made for.
const MaxRoom = 65535 - Headroom

// cacheSize is the most free buffers a thread keeps for itself: a few bursts, so that the shared
// ring is touched rarely.
const cacheSize = 256

// Mempool is a pool of mbufs.
type Mempool C.struct_rte_mempool

// Config describes a pool.
type Config struct {
	Buffers int // how many; 2^n-1 wastes no memory
	Room    int // bytes a frame may have, without Headroom

	// EALMemory insists on memory that EAL manages: devices that do DMA, or that register memory
	// with the kernel, need it.
	EALMemory bool
}

// CreateMbufPool makes a pool. It must run inside eal.Call.
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
	// An eighth, so that eight threads cannot hoard a whole pool.
	cache := min(cacheSize, c.Buffers/8)
	var errno C.int
	p := C.gr_pool_create(s, C.uint(c.Buffers), C.uint(cache), C.uint(c.Room+Headroom), own, &errno)
	if p == nil {
		return nil, fmt.Errorf("mempool %s: %d buffers of %d bytes: %w",
			name, c.Buffers, c.Room, syscall.Errno(errno))
	}
	return (*Mempool)(p), nil
}

// AvailCount answers how many buffers are free, those in threads' own stacks included.
func (p *Mempool) AvailCount() int { return int(C.rte_mempool_avail_count(p.c())) }

// Size answers how many buffers there are.
func (p *Mempool) Size() int { return int(p.c().size) }

// Room answers how long a frame may be.
func (p *Mempool) Room() int { return int(C.rte_pktmbuf_data_room_size(p.c())) - Headroom }

// Free gives the memory back. Every buffer must be home. It must run inside eal.Call.
func (p *Mempool) Free() { C.rte_mempool_free(p.c()) }

// Pointer is the pool's address, for the sibling packages.
func (p *Mempool) Pointer() unsafe.Pointer { return unsafe.Pointer(p) }

func (p *Mempool) c() *C.struct_rte_mempool { return (*C.struct_rte_mempool)(p) }
