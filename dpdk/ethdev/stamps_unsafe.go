package ethdev

/*
#cgo CFLAGS: -DALLOW_EXPERIMENTAL_API
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include "burst.h"
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
)

// Stamps is where drivers put the time at which a frame arrived, in ticks of the device's clock.
type Stamps C.struct_gr_stamps

// RegisterRxTimestamp finds the place in every mbuf of the process
// (rte_mbuf_dyn_rx_timestamp_register).
func RegisterRxTimestamp() (*Stamps, error) {
	var (
		offset C.int
		flag   C.uint64_t
	)
	if rc := C.rte_mbuf_dyn_rx_timestamp_register(&offset, &flag); rc != 0 {
		return nil, eal.Errno(-1)
	}
	// In C's memory: bursts hand it over, and it lives as long as the process.
	s := (*Stamps)(C.calloc(1, C.sizeof_struct_gr_stamps))
	s.offset, s.flag = offset, flag
	return s, nil
}

// ReadClock reads the device's clock, in the ticks of Stamps (rte_eth_read_clock).
func (p Port) ReadClock() (uint64, error) {
	clock := (*C.uint64_t)(unsafe.Pointer(new(uint64)))
	rc := C.rte_eth_read_clock(C.uint16_t(p), clock)
	return uint64(*clock), eal.Errno(int(rc))
}
