package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/transport/wire"
)

// qpTable maps numbers to queue pairs with one array access: the low bits of the numbers in use are
// unique.
type qpTable struct {
	slots   []*QueuePair
	count   int
	first   uint32
	step    uint32
	numbers uint32 // how many numbers there are from first on

	next        uint32     // the next number, unless numbers are drawn
	drawn       *rand.Rand // nil: numbers are assigned in order
	retired     []wire.QPN // numbers given up last, a ring; nil unless numbers are drawn
	nextRetired int        // the next index of the ring
}

// firstQPN is above the numbers to which the specification and its tools give a meaning.
const firstQPN = 0x11

// multicastQPN addresses all queue pairs of a group (InfiniBand spec 3.4.4).
const multicastQPN = wire.PSNMask

// maxRetired is how many of the numbers given up last are not drawn again: peers, and packets
// in flight, may still refer to the old queue pair. Where there are few numbers, fewer rest. OURS.
const maxRetired = 1024

func (t *qpTable) init(first, step uint32, numbers rand.Source) {
	if first == 0 {
		first = firstQPN
	}
	t.first, t.next, t.step = first, first, max(step, 1)
	if first < multicastQPN {
		t.numbers = 1 + (multicastQPN-1-first)/t.step
	}
	if numbers != nil {
		t.drawn = rand.New(numbers)
	}
	t.slots = make([]*QueuePair, 64)
}

func (t *qpTable) find(n wire.QPN) *QueuePair {
	if qp := t.slots[int(n)&(len(t.slots)-1)]; qp != nil && qp.Num == n {
		return qp
	}
	return nil
}

// freeNumber returns a number that is not in use, and was not for as long as possible.
func (t *qpTable) freeNumber() (wire.QPN, error) {
	if t.count == maxQueuePairs {
		return 0, fmt.Errorf("transport: create QP: %d queue pairs: %w", maxQueuePairs, ErrLimit)
	}
	if t.drawn != nil && uint32(t.count) >= t.numbers/2 { // the search would take long
		return 0, fmt.Errorf("transport: create QP: %d queue pairs with numbers %#x + %d·n: %w",
			t.count, t.first, t.step, ErrLimit)
	}
	if t.count*2 >= len(t.slots) || t.step > 1 && t.count*int(t.step)*2 >= len(t.slots) {
		t.grow()
	}
	for {
		n := t.candidate()
		if n >= 2 && n != multicastQPN && t.slots[int(n)&(len(t.slots)-1)] == nil &&
			!slices.Contains(t.retired, n) {
			return n, nil
		}
	}
}

// candidate returns the number to try next.
func (t *qpTable) candidate() wire.QPN {
	if t.drawn != nil {
		return wire.QPN(t.first + t.step*t.drawn.Uint32N(t.numbers))
	}
	n := t.next & wire.PSNMask
	t.next += t.step
	return wire.QPN(n)
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
	if t.drawn != nil {
		t.retire(qp.Num)
	}
}

// retire keeps a number from being drawn for a while.
func (t *qpTable) retire(n wire.QPN) {
	if len(t.retired) < int(min(maxRetired, t.numbers/4)) {
		t.retired = append(t.retired, n)
	} else if len(t.retired) > 0 {
		t.retired[t.nextRetired] = n
		t.nextRetired = (t.nextRetired + 1) % len(t.retired)
	}
}
