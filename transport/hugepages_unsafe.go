package transport

import "unsafe"

// hugePage is the size of a huge page.
const hugePage = 2 << 20

// hugePages asks for huge pages under the queue pairs of an endpoint that has many: each packet
// then is of another one, and with small pages it misses the translation buffers, too. They are in
// Go's heap, which keeps objects of a size together: the queue pairs of a server fill its pages.
type hugePages struct {
	advise  func(addr, size uintptr) // nil: not at all
	advised map[uintptr]bool         // by address
}

// onCreated asks for huge pages under qp, and when there are many for the first time, under all.
func (h *hugePages) onCreated(qp *QueuePair, t *qpTable) {
	if h.advise == nil || t.count < manyQueuePairs {
		return
	}
	if h.advised == nil {
		h.advised = make(map[uintptr]bool)
		for _, other := range t.slots {
			if other != nil {
				h.add(uintptr(unsafe.Pointer(other)))
			}
		}
	}
	h.add(uintptr(unsafe.Pointer(qp)))
	if table := uintptr(unsafe.Pointer(&t.slots[0])); !h.advised[table] {
		h.advised[table] = true
		h.advise(table, uintptr(len(t.slots))*unsafe.Sizeof(t.slots[0]))
	}
}

// add asks for the huge page at addr, once.
func (h *hugePages) add(addr uintptr) {
	if addr &^= hugePage - 1; !h.advised[addr] {
		h.advised[addr] = true
		h.advise(addr, hugePage)
	}
}
