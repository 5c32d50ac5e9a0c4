package faults

/*
#include <stdlib.h>
#include <rte_ethdev.h>

// DPDK's interface for drivers, whose header is not installed.
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_callback_process(struct rte_eth_dev *dev, enum rte_eth_event_type event, void *ret);

static int port_name(uint16_t port, char *name)
{
	return rte_eth_dev_is_valid_port(port) ? rte_eth_dev_get_name_by_port(port, name) : -1;
}

static int removed(const char *name)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(name);

	if (dev == NULL)
		return -1;
	return rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
}
*/
import "C"

import (
	"testing"
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
)

// Port identifies a port of EAL.
type Port struct {
	Number int
	Name   string
}

// Remove raises the port's RTE_ETH_EVENT_INTR_RMV, as its driver does when the hardware has been
// removed, and changes nothing else.
func (p Port) Remove(tb testing.TB) {
	tb.Helper()
	name := C.CString(p.Name)
	defer C.free(unsafe.Pointer(name))
	if C.removed(name) != 0 {
		tb.Errorf("remove %s: EAL has no port of this name", p.Name)
	}
}

// Unplug removes the port from EAL, as EAL's handler does after the event.
func (p Port) Unplug(tb testing.TB) {
	tb.Helper()
	bus, name := C.CString("vdev"), C.CString(p.Name)
	defer C.free(unsafe.Pointer(bus))
	defer C.free(unsafe.Pointer(name))
	err := eal.Call("unplug "+p.Name, func() error {
		return eal.Errno(int(C.rte_eal_hotplug_remove(bus, name)))
	})
	if err != nil {
		tb.Error(err)
	}
}

// PortOf returns the port that open opens.
func PortOf(tb testing.TB, open func()) Port {
	tb.Helper()
	before := ports(tb)
	open()
	for port := range ports(tb) {
		if !before[port] {
			return port
		}
	}
	tb.Fatal("no port was opened")
	return Port{}
}

// ports returns EAL's ports.
func ports(tb testing.TB) map[Port]bool {
	tb.Helper()
	all := map[Port]bool{}
	err := eal.Call("ports", func() error {
		name := (*C.char)(C.malloc(C.RTE_ETH_NAME_MAX_LEN))
		defer C.free(unsafe.Pointer(name))
		for i := range C.RTE_MAX_ETHPORTS {
			if C.port_name(C.uint16_t(i), name) == 0 {
				all[Port{i, C.GoString(name)}] = true
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}
