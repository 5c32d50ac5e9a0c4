package transport

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// cacheLine is the size of a cache line.
const cacheLine = 64

// TestLayout checks that what a data packet touches of its queue pair lies in three cache lines,
// and the headers from which it is built, or with which it is compared, in one more over IPv4.
// Memory to which a queue pair points does not count: the work request, the memory region, the
// memory of the send queue.
func TestLayout(t *testing.T) {
	p := newPair(t)
	a, _ := p.connected(defaults())
	qp := a.qp
	lines := func(from, to uintptr) (set []uintptr) {
		base := uintptr(unsafe.Pointer(qp))
		for line := (base + from) / cacheLine; line <= (base+to-1)/cacheLine; line++ {
			set = append(set, line-base/cacheLine)
		}
		return set
	}
	var q QueuePair
	identity := lines(0, unsafe.Offsetof(q.snd))
	require.Equal(t, []uintptr{0}, identity)
	// A packet that leaves touches identity, sender, loss recovery and congestion, one behind the
	// other.
	require.Equal(t, []uintptr{0, 1, 2}, lines(0, unsafe.Offsetof(q.tmpl)))
	ipv4 := unsafe.Sizeof(q.tmpl) - wire.MaxOverhead - 2 + // without its padding
		wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen
	require.Equal(t, []uintptr{3}, lines(unsafe.Offsetof(q.tmpl), unsafe.Offsetof(q.tmpl)+ipv4))
	// A packet that arrives touches identity and receiver.
	rcv := unsafe.Offsetof(q.rcv)
	require.Equal(t, []uintptr{5, 6}, lines(rcv, rcv+unsafe.Offsetof(q.rcv.ownQueue)))

	require.EqualValues(t, 56, unsafe.Offsetof(q.snd), "the allocator keeps 8 bytes before it")
	require.EqualValues(t, 48, unsafe.Sizeof(q.snd))
	require.EqualValues(t, 48, unsafe.Sizeof(q.loss))
	require.EqualValues(t, 32, unsafe.Sizeof(q.cong))
	require.EqualValues(t, 224, unsafe.Sizeof(q.rcv))
	require.LessOrEqual(t, unsafe.Sizeof(q), uintptr(11*cacheLine-8))
}

// TestOwnersFindTheirQueuePair checks that each part finds its queue pair by its own address.
func TestOwnersFindTheirQueuePair(t *testing.T) {
	qp := &QueuePair{}
	require.Same(t, qp, qp.snd.conn())
	require.Same(t, qp, qp.loss.conn())
	require.Same(t, qp, qp.cong.conn())
	require.Same(t, qp, qp.rcv.conn())
	require.Same(t, &qp.cold.snd, qp.snd.cold())
	require.Same(t, &qp.cold.loss, qp.loss.cold())
	require.Same(t, &qp.cold.cong, qp.cong.cold())
}
