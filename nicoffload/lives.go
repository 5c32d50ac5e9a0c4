package nicoffload

import "github.com/goroce/goroce/units"

// life is that a flow began, or ended.
type life struct {
	flow Handle
	t    Type // Started or Stopped; anything else is void
	at   units.Time
}

// lives are those that wait to be told, in order. A flow that ends before anybody was told of it is
// not mentioned: there are never more than the flows that are open and those that whoever is to be
// told knows of, however long it listens to nobody.
type lives struct {
	queue  []life
	head   int            // everything before it was told
	void   int            // behind it
	starts map[Handle]int // where in the queue a flow begins
}

// waiting returns how many wait.
func (w *lives) waiting() int { return len(w.queue) - w.head - w.void }

// add has one wait, or takes back the one that it ends.
func (w *lives) add(l life) {
	if l.t == Stopped {
		if i, some := w.starts[l.flow]; some {
			delete(w.starts, l.flow)
			w.queue[i] = life{}
			w.void++
			return
		}
	}
	if waste := w.head + w.void; waste > len(w.queue)/2 {
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

// compact gives up the places of what was told or is void.
func (w *lives) compact() {
	n := 0
	for _, l := range w.queue[w.head:] {
		if l.t == Started {
			w.starts[l.flow] = n
		}
		if l != (life{}) {
			w.queue[n] = l
			n++
		}
	}
	w.queue, w.head, w.void = w.queue[:n], 0, 0
}

// next returns the one to be told next, and false when there is none.
func (w *lives) next() (l life, some bool) {
	for ; w.head < len(w.queue); w.head++ {
		if l = w.queue[w.head]; l != (life{}) {
			return l, true
		}
		w.void--
	}
	w.queue, w.head = w.queue[:0], 0
	return life{}, false
}

// told notes that the next one was told.
func (w *lives) told() {
	if l := w.queue[w.head]; l.t == Started {
		delete(w.starts, l.flow)
	}
	w.head++
}

// clear forgets all.
func (w *lives) clear() {
	clear(w.starts)
	w.queue, w.head, w.void = w.queue[:0], 0, 0
}
