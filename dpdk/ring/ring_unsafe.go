package ring

/*
#cgo pkg-config: libdpdk
#include <stdlib.h>
#include <rte_ring.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

static struct rte_ring *ring_create(const char *name, unsigned count, int *error)
{
	struct rte_ring *r = rte_ring_create(name, count, SOCKET_ID_ANY,
		RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	*error = r == NULL ? rte_errno : 0;
	return r;
}

static unsigned ring_drain(struct rte_ring *r)
{
	void *m;
	unsigned n = 0;
	while (rte_ring_dequeue(r, &m) == 0) {
		rte_pktmbuf_free(m);
		n++;
	}
	return n;
}
*/
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"
)

// Ring is a ring with one producer and one consumer.
type Ring C.struct_rte_ring

// Create returns a ring for exactly count mbufs. It must run inside eal.Call.
func Create(name string, count int) (*Ring, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	var errno C.int
	r := C.ring_create(s, C.uint(count), &errno)
	if r == nil {
		return nil, fmt.Errorf("ring %s of %d: %w", name, count, syscall.Errno(errno))
	}
	return (*Ring)(r), nil
}

// Count returns the number of mbufs in the ring.
func (r *Ring) Count() int { return int(C.rte_ring_count((*C.struct_rte_ring)(r))) }

// Drain frees every mbuf in the ring and returns their number. No consumer may be active.
func (r *Ring) Drain() int { return int(C.ring_drain((*C.struct_rte_ring)(r))) }

// Free releases the ring. It must run inside eal.Call.
func (r *Ring) Free() { C.rte_ring_free((*C.struct_rte_ring)(r)) }

// Pointer returns the ring's address, for the sibling packages.
func (r *Ring) Pointer() unsafe.Pointer { return unsafe.Pointer(r) }
