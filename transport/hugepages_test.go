package transport

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// An endpoint asks for huge pages when it has many queue pairs, once for each page, and all of its
// queue pairs lie in them.
func TestHugePagesUnderManyQueuePairs(t *testing.T) {
	la, _ := newCrossing(64)
	pages := map[uintptr]int{}
	e, err := New(Config{Port: la, Addrs: prefixes("10.0.0.1/24"), Seed: 1,
		HugePages: func(addr, size uintptr) {
			for ; size >= hugePage; addr, size = addr+hugePage, size-hugePage {
				pages[addr]++
			}
		}}, 0)
	require.NoError(t, err)
	pd := e.AllocPD()
	cq, err := e.CreateCQ(1)
	require.NoError(t, err)
	var qps []*QueuePair
	create := func() {
		qp, err := e.CreateQP(QPInit{PD: pd, SendCQ: cq, RecvCQ: cq, MaxSendWR: 1})
		if err != nil {
			t.Fatal(err)
		}
		qps = append(qps, qp)
	}
	for range manyQueuePairs - 1 {
		create()
	}
	require.Empty(t, pages)
	for range manyQueuePairs {
		create()
	}
	for _, qp := range qps {
		addr := uintptr(unsafe.Pointer(qp)) &^ (hugePage - 1)
		if pages[addr] != 1 {
			t.Fatalf("queue pair %#x: its page was asked for %d times", uint32(qp.Num), pages[addr])
		}
	}
}
