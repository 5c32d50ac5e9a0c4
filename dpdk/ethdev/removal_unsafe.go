package ethdev

/*
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

struct gr_removal {
	_Alignas(64) uint32_t happened; // read by Go, before each burst
	struct rte_device *device;
	char name[RTE_ETH_NAME_MAX_LEN];
};

// Called on a thread of EAL or of the driver, which must not wait and must not run Go code.
static int removed(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port, (void)event, (void)ret;
	__atomic_store_n(&((struct gr_removal *)arg)->happened, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static struct gr_removal *watch_removal(uint16_t port)
{
	struct gr_removal *r = aligned_alloc(64, sizeof *r);
	struct rte_eth_dev_info info;
	int rc;

	if (r == NULL)
		abort(); // as Go does
	memset(r, 0, sizeof *r);
	rc = rte_eth_dev_info_get(port, &info);
	if (rc == 0)
		rc = rte_eth_dev_get_name_by_port(port, r->name);
	if (rc == 0)
		rc = rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, removed, r);
	if (rc != 0) {
		free(r);
		rte_errno = -rc;
		return NULL;
	}
	r->device = info.device;
	return r;
}

// The callback is searched at all ports: EAL finds it at a port that no longer exists only then.
static void unwatch_removal(struct gr_removal *r)
{
	while (rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, removed, r) ==
	       -EAGAIN)
		sched_yield(); // it is running
	free(r);
}

// Reports whether the port is still the watched one.
static int same_port(uint16_t port, const struct gr_removal *r)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	return rte_eth_dev_get_name_by_port(port, name) == 0 && strcmp(name, r->name) == 0;
}
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
)

// Removal records whether a port's hardware has been removed, as its driver or EAL reports it
// (RTE_ETH_EVENT_INTR_RMV). It belongs to one device: another one that gets the same port number
// later has its own. It also keeps data for Detach that a driver without hardware does not provide.
type Removal C.struct_gr_removal

// WatchRemoval starts to record.
func (p Port) WatchRemoval() (*Removal, error) {
	r := C.watch_removal(C.uint16_t(p))
	if r == nil {
		return nil, eal.Errno(-1)
	}
	return (*Removal)(r), nil
}

// Happened reports whether the hardware has been removed. It is safe for concurrent use until Free.
func (r *Removal) Happened() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.happened))) != 0
}

// of reports whether p is the port that r was made for, not a later one with the same number.
func (r *Removal) of(p Port) bool {
	return C.same_port(C.uint16_t(p), (*C.struct_gr_removal)(r)) != 0
}

// Free ends the recording.
func (r *Removal) Free() { C.unwatch_removal((*C.struct_gr_removal)(r)) }
