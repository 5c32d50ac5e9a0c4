package ethdev

/*
#cgo noescape gr_rx_burst
#cgo nocallback gr_rx_burst
#cgo noescape gr_tx_burst
#cgo nocallback gr_tx_burst
#include "burst.h"
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/mbuf"
)

// RxBurst polls the receive queues in order until b holds n ≤ mbuf.Max frames, and returns how many
// it holds. It drops frames in several segments and adds their number to *dropped. It fills b.Stamp
// if stamps is not nil.
func (p Port) RxBurst(queues []uint16, b *mbuf.Burst, n int, guard *Guard, stamps *Stamps,
	dropped *uint32) int {
	return int(C.gr_rx_burst(C.uint16_t(p), (*C.uint16_t)(unsafe.SliceData(queues)),
		C.uint(len(queues)), (*C.struct_gr_burst)(unsafe.Pointer(b)), C.uint(n),
		(*C.struct_gr_guard)(guard), (*C.struct_gr_stamps)(stamps), (*C.uint32_t)(dropped)))
}

// TxBurst queues the first n frames of b, of which it reads Handle, Data and Len, and returns how
// many the queue took. guard may be nil.
func (p Port) TxBurst(queue uint16, b *mbuf.Burst, n int, guard *Guard) int {
	return int(C.gr_tx_burst(C.uint16_t(p), C.uint16_t(queue),
		(*C.struct_gr_burst)(unsafe.Pointer(b)), C.uint(n),
		(*C.struct_gr_guard)(guard)))
}
