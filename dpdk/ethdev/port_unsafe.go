package ethdev

/*
#cgo pkg-config: libdpdk
#cgo LDFLAGS: -lrte_net_ring
#include <stdio.h>
#include <stdlib.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_eth_ring.h>
#include "memif.h"

static int attach(const char *bus, const char *name, const char *args)
{
	int rc = gr_memif_probe_begin();

	if (rc == 0) {
		rc = rte_eal_hotplug_add(bus, name, args);
		gr_memif_probe_end(name, rc != 0);
	}
	return rc;
}

static int from_rings(const char *name, void **rx, unsigned nrx, void **tx, unsigned ntx)
{
	char device[RTE_DEV_NAME_MAX_LEN];
	int port = rte_eth_from_rings(name, (struct rte_ring *const *)rx, nrx,
		(struct rte_ring *const *)tx, ntx, 0), error = rte_errno;

	if (port < 0) { // the device may exist nevertheless
		snprintf(device, sizeof device, "net_ring_%s", name);
		rte_eal_hotplug_remove("vdev", device);
		rte_errno = error;
	}
	return port;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/dpdk/ring"
)

// Port is the number of an Ethernet device.
type Port uint16

// GetByName returns the device that was attached under a name.
func GetByName(name string) (Port, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	var id C.uint16_t
	if rc := C.rte_eth_dev_get_port_by_name(s, &id); rc != 0 {
		return 0, fmt.Errorf("find %s: %w", name, eal.Errno(int(rc)))
	}
	return Port(id), nil
}

// Attach adds a device to a bus, "vdev" or "pci", of the running process, with a driver's arguments
// (k=v,k=v), and returns its port.
func Attach(bus, name, args string) (Port, error) {
	cBus, cName, cArgs := C.CString(bus), C.CString(name), C.CString(args)
	defer C.free(unsafe.Pointer(cBus))
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cArgs))
	if rc := C.attach(cBus, cName, cArgs); rc != 0 {
		return 0, eal.Errno(int(rc))
	}
	port, err := GetByName(name)
	if err != nil {
		C.rte_eal_hotplug_remove(cBus, cName)
	}
	return port, err
}

// FromRings makes a device whose receive queues are the rings rx and whose transmit queues are
// the rings tx.
func FromRings(name string, rx, tx []*ring.Ring) (Port, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	cRx, cTx := pointers(rx), pointers(tx)
	defer C.free(unsafe.Pointer(cRx))
	defer C.free(unsafe.Pointer(cTx))
	id := C.from_rings(s, cRx, C.uint(len(rx)), cTx, C.uint(len(tx)))
	if id < 0 {
		return 0, fmt.Errorf("device %s of %d and %d rings: %w", name, len(rx), len(tx),
			eal.Errno(-1))
	}
	return Port(id), nil
}

// pointers is an array in C's memory, which may hold any pointer.
func pointers(rings []*ring.Ring) *unsafe.Pointer {
	array := (*unsafe.Pointer)(C.calloc(C.size_t(len(rings)+1),
		C.size_t(unsafe.Sizeof(uintptr(0)))))
	slots := unsafe.Slice(array, len(rings))
	for i, r := range rings {
		slots[i] = r.Pointer()
	}
	return array
}

// Detach closes the device and removes it from its bus, which by itself does not close every
// device. The Port is invalid afterwards. removal is the port's, or nil to query the driver. Detach
// does nothing to a port that EAL has already removed, nor to another one that got its number.
func (p Port) Detach(removal *Removal) error {
	var device *C.struct_rte_device
	if removal == nil {
		var info C.struct_rte_eth_dev_info
		if rc := C.rte_eth_dev_info_get(C.uint16_t(p), &info); rc != 0 {
			return fmt.Errorf("what to detach: %w", eal.Errno(int(rc)))
		}
		device = info.device
	} else if removal.Happened() && !removal.of(p) {
		return nil
	} else {
		device = (*C.struct_rte_device)(unsafe.Pointer(removal.device))
	}
	var errs []error
	if rc := C.rte_eth_dev_close(C.uint16_t(p)); rc != 0 {
		errs = append(errs, fmt.Errorf("close: %w", eal.Errno(int(rc))))
	}
	C.gr_memif_closed(C.uint16_t(p))
	if rc := C.rte_dev_remove(device); rc != 0 {
		errs = append(errs, fmt.Errorf("remove: %w", eal.Errno(int(rc))))
	}
	return errors.Join(errs...)
}
