package neigh

import "github.com/goroce/goroce/units"

// timerHeap is a heap of entries, the earliest deadline first. Deadlines are within half the range
// of a Time of each other, so Before orders them.
type timerHeap []timer

// timer is the deadline of an entry.
type timer struct {
	deadline units.Time
	entry    *Entry
}

// set sets the deadline of an entry.
func (h *timerHeap) set(e *Entry, at units.Time) {
	if e.index == 0 {
		*h = append(*h, timer{entry: e})
		e.index = len(*h)
	}
	(*h)[e.index-1].deadline = at
	i := h.up(e.index - 1)
	h.down(i)
}

// remove removes an entry, if it is in the heap.
func (h *timerHeap) remove(e *Entry) {
	i, last := e.index-1, len(*h)-1
	if i < 0 {
		return
	}
	h.swap(i, last)
	(*h)[last] = timer{}
	*h = (*h)[:last]
	e.index = 0
	if i < last {
		h.down(h.up(i))
	}
}

func (h timerHeap) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].deadline.Before(h[parent].deadline) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h timerHeap) down(i int) {
	for {
		smallest := 2*i + 1
		if smallest >= len(h) {
			return
		}
		if right := smallest + 1; right < len(h) && h[right].deadline.Before(h[smallest].deadline) {
			smallest = right
		}
		if !h[smallest].deadline.Before(h[i].deadline) {
			return
		}
		h.swap(i, smallest)
		i = smallest
	}
}

func (h timerHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].entry.index, h[j].entry.index = i+1, j+1
}
