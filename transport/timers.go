package transport

import "github.com/goroce/goroce/units"

// timers is a heap of queue pairs by the time they want to be woken. Retransmission timers move
// with every ACK and almost never fire, so an entry is lazy: it may be due earlier than the queue
// pair's real deadline, and is then put back. Moving a deadline later costs nothing.
type timers struct {
	heap []*QueuePair
}

// wakeBy makes sure that qp is woken at t or before.
func (h *timers) wakeBy(qp *QueuePair, t units.Time) {
	if qp.timerIx >= 0 {
		if t.Before(qp.timerAt) {
			qp.timerAt = t
			h.up(int(qp.timerIx))
		}
		return
	}
	qp.timerAt, qp.timerIx = t, int32(len(h.heap))
	h.heap = append(h.heap, qp)
	h.up(len(h.heap) - 1)
}

// due takes out a queue pair whose time has come.
func (h *timers) due(now units.Time) *QueuePair {
	if len(h.heap) == 0 || h.heap[0].timerAt.After(now) {
		return nil
	}
	qp := h.heap[0]
	h.remove(qp)
	return qp
}

// next answers when the first entry is due.
func (h *timers) next(now units.Time) units.Time {
	if len(h.heap) == 0 {
		return now.Add(units.Forever)
	}
	return h.heap[0].timerAt
}

func (h *timers) remove(qp *QueuePair) {
	if qp.timerIx < 0 {
		return
	}
	i, last := int(qp.timerIx), len(h.heap)-1
	h.swap(i, last)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	qp.timerIx = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *timers) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].timerIx, h.heap[j].timerIx = int32(i), int32(j)
}

func (h *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.heap[i].timerAt.Before(h.heap[parent].timerAt) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if right := child + 1; right < len(h.heap) && h.heap[right].timerAt.Before(h.heap[child].timerAt) {
			child = right
		}
		if !h.heap[child].timerAt.Before(h.heap[i].timerAt) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
