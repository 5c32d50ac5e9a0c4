package transport

import (
	"fmt"

	"github.com/goroce/goroce/transport/wire"
)

// qpTable finds a queue pair by its number with one array access: the low bits of the numbers in
// use are unique.
type qpTable struct {
	slots []*QueuePair
	count int
	next  uint32
	step  uint32
}

// firstQPN keeps clear of the numbers that the specification and its tools give a meaning to.
const firstQPN = 0x11

func (t *qpTable) init(first, step uint32) {
	if first == 0 {
		first = firstQPN
	}
	t.next, t.step = first, max(step, 1)
	t.slots = make([]*QueuePair, 64)
}

func (t *qpTable) find(n wire.QPN) *QueuePair {
	if qp := t.slots[int(n)&(len(t.slots)-1)]; qp != nil && qp.Num == n {
		return qp
	}
	return nil
}

// freeNumber answers a number that is not in use, and was not for as long as possible.
func (t *qpTable) freeNumber() (wire.QPN, error) {
	if t.count == MaxQueuePairs {
		return 0, fmt.Errorf("transport: create QP: %d queue pairs: %w", MaxQueuePairs, ErrLimit)
	}
	if t.count*2 >= len(t.slots) || t.step > 1 && t.count*int(t.step)*2 >= len(t.slots) {
		t.grow()
	}
	for {
		n := t.next & wire.PSNMask
		t.next += t.step
		if n >= 2 && t.slots[int(n)&(len(t.slots)-1)] == nil {
			return wire.QPN(n), nil
		}
	}
}

func (t *qpTable) grow() {
	old := t.slots
	t.slots = make([]*QueuePair, 2*len(old))
	for _, qp := range old {
		if qp != nil {
			t.slots[int(qp.Num)&(len(t.slots)-1)] = qp
		}
	}
}

func (t *qpTable) add(qp *QueuePair) {
	t.slots[int(qp.Num)&(len(t.slots)-1)] = qp
	t.count++
}

func (t *qpTable) remove(qp *QueuePair) {
	t.slots[int(qp.Num)&(len(t.slots)-1)] = nil
	t.count--
}
