package ethdev

/*
#cgo CFLAGS: -DALLOW_EXPERIMENTAL_API
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include "burst.h"

// In C's memory, since it is passed with bursts; it is valid as long as the process.
static struct gr_stamps stamps;

static struct gr_stamps *register_stamps(void)
{
	return rte_mbuf_dyn_rx_timestamp_register(&stamps.offset, &stamps.flag) == 0 ? &stamps : NULL;
}
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/eal"
)

// Stamps is the place where drivers put a frame's time of arrival, in ticks of the device's clock.
type Stamps C.struct_gr_stamps

// RegisterRxTimestamp returns the place of the stamp in every mbuf of the process
// (rte_mbuf_dyn_rx_timestamp_register).
func RegisterRxTimestamp() (*Stamps, error) {
	s := C.register_stamps()
	if s == nil {
		return nil, eal.Errno(-1)
	}
	return (*Stamps)(s), nil
}

// ReadClock reads the device's clock, in the ticks of Stamps (rte_eth_read_clock).
func (p Port) ReadClock() (uint64, error) {
	clock := (*C.uint64_t)(unsafe.Pointer(new(uint64)))
	rc := C.rte_eth_read_clock(C.uint16_t(p), clock)
	return uint64(*clock), eal.Errno(int(rc))
}
