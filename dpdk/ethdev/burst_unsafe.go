package ethdev

/*
#cgo noescape gr_rx_burst
#cgo nocallback gr_rx_burst
#cgo noescape gr_tx_burst
#cgo nocallback gr_tx_burst
#include "burst.h"

struct gr_rx_args {
	const uint16_t *queue;
	struct gr_burst *b;
	struct gr_guard *guard;
	const struct gr_stamps *stamps;
	uint32_t *dropped;
	uint32_t queues, n, got;
	uint16_t port;
};

struct gr_tx_args {
	struct gr_burst *b;
	struct gr_guard *guard;
	uint32_t n, sent;
	uint16_t port, queue;
};

static void gr_rx(void *p)
{
	struct gr_rx_args *a = p;
	a->got = gr_rx_burst(a->port, a->queue, a->queues, a->b, a->n, a->guard, a->stamps,
			     a->dropped);
}

static void gr_tx(void *p)
{
	struct gr_tx_args *a = p;
	a->sent = gr_tx_burst(a->port, a->queue, a->b, a->n, a->guard);
}

static void *gr_rx_fn(void) { return gr_rx; }
static void *gr_tx_fn(void) { return gr_tx; }
*/
import "C"

import (
	"unsafe"

	"github.com/goroce/goroce/dpdk/ccall"
	"github.com/goroce/goroce/dpdk/mbuf"
)

// RxBurst polls the receive queues in order until b holds n ≤ mbuf.Max frames, and returns how
// many it holds. It drops frames in several segments and adds their number to *dropped. It fills
// b.Stamp if stamps is not nil.
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

// Package ccall calls these for devices whose bursts do not block, such as a ring.
var rx, tx = C.gr_rx_fn(), C.gr_tx_fn()

// rxArgs and txArgs have the layouts of the structs above.
type rxArgs struct {
	queue          *uint16
	b              *mbuf.Burst
	guard          *Guard
	stamps         *Stamps
	dropped        *uint32
	queues, n, got uint32
	port           Port
}

type txArgs struct {
	b       *mbuf.Burst
	guard   *Guard
	n, sent uint32
	port    Port
	queue   uint16
}

// The layouts must be equal: the differences are 0.
const (
	_ = uint(unsafe.Sizeof(rxArgs{}) - C.sizeof_struct_gr_rx_args)
	_ = uint(C.sizeof_struct_gr_rx_args - unsafe.Sizeof(rxArgs{}))
	_ = uint(unsafe.Sizeof(txArgs{}) - C.sizeof_struct_gr_tx_args)
	_ = uint(C.sizeof_struct_gr_tx_args - unsafe.Sizeof(txArgs{}))
)

// RxBurstAtOnce is RxBurst of a device whose bursts do not block.
func (p Port) RxBurstAtOnce(queues []uint16, b *mbuf.Burst, n int, guard *Guard, stamps *Stamps,
	dropped *uint32) int {
	a := rxArgs{queue: unsafe.SliceData(queues), b: b, guard: guard, stamps: stamps,
		dropped: dropped, queues: uint32(len(queues)), n: uint32(n), port: p}
	ccall.Call(rx, unsafe.Pointer(&a))
	return int(a.got)
}

// TxBurstAtOnce is TxBurst of a device whose bursts do not block.
func (p Port) TxBurstAtOnce(queue uint16, b *mbuf.Burst, n int, guard *Guard) int {
	a := txArgs{b: b, guard: guard, n: uint32(n), port: p, queue: queue}
	ccall.Call(tx, unsafe.Pointer(&a))
	return int(a.sent)
}
