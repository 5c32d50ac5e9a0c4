package nicoffload

import "github.com/goroce/goroce/units"

// lifecycleEvent is the beginning or end of a flow.
type lifecycleEvent struct {
	flow Handle
	t    Type // Started or Stopped; anything else marks a cancelled entry
	at   units.Time
}

// lifecycleQueue is a queue of lifecycle events that wait to be reported, in order. A flow that
// ends before its beginning was reported is removed, so the queue never holds more than the open
// flows plus those that the receiver knows of, however long the receiver is silent.
type lifecycleQueue struct {
	queue     []lifecycleEvent
	head      int            // number of reported entries
	cancelled int            // number of cancelled entries after head
	starts    map[Handle]int // position of each flow's beginning in the queue
}

// waiting returns the number of events that wait.
func (w *lifecycleQueue) waiting() int { return len(w.queue) - w.head - w.cancelled }

// add queues an event, or cancels the beginning of the flow that ends.
func (w *lifecycleQueue) add(l lifecycleEvent) {
	if l.t == Stopped {
		if i, some := w.starts[l.flow]; some {
			delete(w.starts, l.flow)
			w.queue[i] = lifecycleEvent{}
			w.cancelled++
			return
		}
	}
	if waste := w.head + w.cancelled; waste > len(w.queue)/2 {
		w.compact()
	}
	if l.t == Started {
		if w.starts == nil {
			w.starts = make(map[Handle]int)
		}
		w.starts[l.flow] = len(w.queue)
	}
	w.queue = append(w.queue, l)
}

// compact removes reported and cancelled entries.
func (w *lifecycleQueue) compact() {
	n := 0
	for _, l := range w.queue[w.head:] {
		if l.t == Started {
			w.starts[l.flow] = n
		}
		if l != (lifecycleEvent{}) {
			w.queue[n] = l
			n++
		}
	}
	w.queue, w.head, w.cancelled = w.queue[:n], 0, 0
}

// peek returns the event to report next, and false if there is none.
func (w *lifecycleQueue) peek() (l lifecycleEvent, some bool) {
	for ; w.head < len(w.queue); w.head++ {
		if l = w.queue[w.head]; l != (lifecycleEvent{}) {
			return l, true
		}
		w.cancelled--
	}
	w.queue, w.head = w.queue[:0], 0
	return lifecycleEvent{}, false
}

// pop removes the event that peek returned.
func (w *lifecycleQueue) pop() {
	if l := w.queue[w.head]; l.t == Started {
		delete(w.starts, l.flow)
	}
	w.head++
}

// clear removes all events.
func (w *lifecycleQueue) clear() {
	clear(w.starts)
	w.queue, w.head, w.cancelled = w.queue[:0], 0, 0
}
