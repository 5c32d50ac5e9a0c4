package dpdk

import (
	"sync/atomic"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/mbuf"
	"github.com/goroce/goroce/dpdk/mempool"
	"github.com/goroce/goroce/packet"
)

// Queue is one receive queue of a device and its transmit queues, one per class. It is a
// packet.Port and belongs to one goroutine, which should have called Register.
type Queue struct {
	burst mbuf.Burst // arguments of the current C call

	port  ethdev.Port
	pool  *mempool.Mempool
	room  uint32
	rx    []uint16 // hardware queues to poll, in order
	tx    []uint16 // hardware queue of each class
	info  packet.Info
	guard *ethdev.Guard // of a memif, else nil
	// atOnce reports whether the driver's bursts do not block.
	atOnce bool

	stamps *ethdev.Stamps // nil: frames carry no time of arrival
	clock  deviceClock

	lost    uint32        // dropped chains, counted in C
	chained atomic.Uint32 // a copy of lost for other goroutines

	device    *Device
	removal   *ethdev.Removal
	txRemoved atomic.Uint64 // frames dropped since the removal
}

var _ packet.Port = (*Queue)(nil)

// newQueue returns a Queue on hardware queues number i.
func (d *Device) newQueue(i int) *Queue {
	q := &Queue{
		port: d.port,
		pool: d.pool,
		room: uint32(d.pool.Room()),
		rx:   d.shape.rx(i),
		tx:   d.shape.tx(i),
		info: d.info,

		atOnce: d.url.Scheme == Loop || d.url.Scheme == Memif || d.url.Scheme == Null,

		device:  d,
		removal: d.removal,
	}
	if d.guards != nil {
		q.guard = d.guards[i]
	}
	if d.stamps != nil {
		q.stamps, q.clock = d.stamps, deviceClock{read: d.port.ReadClock, now: d.opts.Clock}
	}
	return q
}

// Alloc implements packet.Port.
func (q *Queue) Alloc(bufs []packet.Buf) int {
	done := 0
	for done < len(bufs) {
		want := min(len(bufs)-done, mbuf.Max)
		got := mbuf.Alloc(q.pool, &q.burst, want)
		q.fresh(bufs[done : done+got])
		done += got
		if got < want {
			break
		}
	}
	return done
}

// Free implements packet.Port. The buffers may come from any device of the process.
func (q *Queue) Free(bufs []packet.Buf) {
	for len(bufs) > 0 {
		n := min(len(bufs), mbuf.Max)
		for i := range n {
			q.burst.Handle[i] = bufs[i].Handle
		}
		mbuf.Free(&q.burst, n)
		bufs = bufs[n:]
	}
}

// Recv implements packet.Port.
func (q *Queue) Recv(bufs []packet.Buf) int {
	if q.removal.Happened() {
		_ = q.device.alive() // closes Removed
		return 0
	}
	n := min(len(bufs), mbuf.Max)
	if q.atOnce {
		n = q.port.RxBurstAtOnce(q.rx, &q.burst, n, q.guard, q.stamps, &q.lost)
	} else {
		n = q.port.RxBurst(q.rx, &q.burst, n, q.guard, q.stamps, &q.lost)
	}
	q.received(bufs[:n])
	if q.lost != q.chained.Load() {
		q.chained.Store(q.lost)
	}
	return n
}

// Send implements packet.Port. A removed device accepts all frames and drops them: if it accepted
// none, the transport would wait for room.
func (q *Queue) Send(class packet.Class, bufs []packet.Buf) int {
	if q.removal.Happened() {
		q.Free(bufs)
		q.txRemoved.Add(uint64(len(bufs)))
		return len(bufs)
	}
	tx := q.tx[min(int(class), len(q.tx)-1)]
	done := 0
	for done < len(bufs) {
		n := min(len(bufs)-done, mbuf.Max)
		q.describe(bufs[done : done+n])
		sent := 0
		if q.atOnce {
			sent = q.port.TxBurstAtOnce(tx, &q.burst, n, q.guard)
		} else {
			sent = q.port.TxBurst(tx, &q.burst, n, q.guard)
		}
		done += sent
		if sent < n {
			break
		}
	}
	return done
}

// Info implements packet.Port.
func (q *Queue) Info() packet.Info { return q.info }
