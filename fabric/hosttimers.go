package fabric

import "github.com/goroce/goroce/units"

// hostTimers is a heap of hosts by the deadline that their poller returned. A deadline moves with
// every poll, mostly to later, and is rarely reached. An entry may therefore be due before the
// host's actual deadline; it is then reinserted. Moving a deadline to later costs nothing.
type hostTimers struct{ heap []*Host }

// set arms the timer of h.
func (a *hostTimers) set(h *Host, at units.Time) {
	h.deadline = at
	switch {
	case h.timerIndex < 0:
		h.timerAt, h.timerIndex = at, int32(len(a.heap))
		a.heap = append(a.heap, h)
		a.up(len(a.heap) - 1)
	case at.Before(h.timerAt):
		h.timerAt = at
		a.up(int(h.timerIndex))
	}
}

// next returns when the first timer expires, or never if none is armed. It reinserts entries due by
// until whose host's deadline has moved to later.
func (a *hostTimers) next(until units.Time) units.Time {
	for len(a.heap) > 0 {
		h := a.heap[0]
		if h.timerAt.After(until) || h.timerAt == h.deadline {
			return h.timerAt
		}
		h.timerAt = h.deadline
		a.down(0)
	}
	return never
}

// pop removes and returns the first host.
func (a *hostTimers) pop() *Host {
	h, last := a.heap[0], len(a.heap)-1
	a.swap(0, last)
	a.heap[last] = nil
	a.heap = a.heap[:last]
	h.timerIndex = -1
	if last > 0 {
		a.down(0)
	}
	return h
}

func (a *hostTimers) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.heap[i].timerIndex, a.heap[j].timerIndex = int32(i), int32(j)
}

// before orders by time, then by host index, so that the order does not depend on history.
func (a *hostTimers) before(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	return x.timerAt < y.timerAt || x.timerAt == y.timerAt && x.index < y.index
}

func (a *hostTimers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !a.before(i, parent) {
			return
		}
		a.swap(i, parent)
		i = parent
	}
}

func (a *hostTimers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			return
		}
		if right := child + 1; right < len(a.heap) && a.before(right, child) {
			child = right
		}
		if !a.before(child, i) {
			return
		}
		a.swap(i, child)
		i = child
	}
}
