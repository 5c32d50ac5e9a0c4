package pace

import "github.com/goroce/goroce/units"

// Slot is how precise a Wheel is: a timer is due at the first multiple of it that is not before the
// timer's moment.
const Slot = 128 * units.Nanosecond

// The wheel has a slot for each of the next 524.288 µs, a bucket for each such block of the next
// 537 ms, and one bucket for everything later.
const (
	slotBits   = 12
	bucketBits = 10
	slots      = 1 << slotBits
	buckets    = 1 << bucketBits
	block      = slots * Slot
)

// Wheel is a set of timers, at most one for each number, ordered by the slot in which they are due.
// It is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987). Setting and stopping a timer
// takes constant time; the buckets are heaps, so that Next is exact however far away it is.
//
// Most timers move on before they are due, or are stopped. So a timer that moves to later, or
// stops, stays linked where it was until that place is the first of all.
type Wheel struct {
	nodes []node     // that of timer 0 is the second: index none is nobody
	now   uint64     // the block that slots is of, counted from the wheel's beginning
	start units.Time // when that begins

	slots    [slots]int32 // of the block: heads of rings
	inSlots  bitmap
	buckets  [buckets]int32 // of the blocks that differ in their low bits only: heaps
	inBucket bitmap
	beyond   int32 // all other: a heap

	known bool       // the following is right
	some  bool       // there is a timer
	first uint64     // the slot of the first timer
	next  units.Time // when that is
}

// none is the index of no node.
const none int32 = 0

// node is a timer.
type node struct {
	slot              uint64 // when it is due, counted from the wheel's beginning
	place             uint64 // the slot by which it is linked: not after slot
	next, prev, child int32
	armed, linked     bool
}

// New makes a wheel at a time.
func New(now units.Time) *Wheel {
	into := now % units.Time(Slot)
	if into < 0 {
		into += units.Time(Slot)
	}
	return &Wheel{start: now - into, nodes: make([]node, 1)}
}

// Set makes timer id due at a moment, instead of when it was. A moment that has passed means now;
// one further away than units.Forever means then.
func (w *Wheel) Set(id uint32, at units.Time) {
	for int(id)+1 >= len(w.nodes) {
		w.nodes = append(w.nodes, node{})
	}
	i := int32(id) + 1
	n := &w.nodes[i]
	slot := w.slotOf(at)
	if w.known {
		switch {
		case !w.some || slot < w.first:
			w.some, w.first, w.next = true, slot, w.timeOf(slot)
		case n.armed && n.slot == w.first && slot != w.first:
			w.known = false
		}
	}
	n.slot, n.armed = slot, true
	if n.linked {
		if n.place <= slot {
			return
		}
		w.unlink(i)
	}
	w.link(i)
}

// Stop makes timer id not due at all. One that was never set is stopped.
func (w *Wheel) Stop(id uint32) {
	if int(id)+1 >= len(w.nodes) {
		return
	}
	n := &w.nodes[id+1]
	if n.armed && n.slot == w.first {
		w.known = false
	}
	n.armed = false
}

// Next answers when the first timer is due, and false when there is none.
func (w *Wheel) Next() (units.Time, bool) {
	if !w.known {
		w.find()
	}
	return w.next, w.some
}

// Due stops and answers a timer that is due, the earliest slot's first, and false when there is
// none. Time must not go back.
func (w *Wheel) Due(now units.Time) (id uint32, ok bool) {
	if !w.known {
		w.find()
	}
	if !w.some || w.next.After(now) {
		w.advance(now)
		return 0, false
	}
	if b := w.first >> slotBits; b != w.now {
		w.enter(b)
	}
	// The head of the ring is due: find took away what was before it, and enter what has moved.
	i := w.slots[w.first%slots]
	w.unlink(i)
	w.nodes[i].armed, w.known = false, false
	return uint32(i - 1), true
}

// find finds the first timer. What is linked before it moves to where it belongs.
func (w *Wheel) find() {
	w.known, w.some = true, true
	for {
		i := w.beyond
		switch {
		case w.inSlots.any != 0:
			i = w.slots[w.inSlots.first()]
		case w.inBucket.any != 0:
			i = w.buckets[w.inBucket.first()]
		}
		if i == none {
			w.some = false
			return
		}
		n := &w.nodes[i]
		if n.armed && n.slot == n.place {
			w.first, w.next = n.slot, w.timeOf(n.slot)
			return
		}
		w.unlink(i)
		if n.armed {
			w.link(i)
		}
	}
}

// advance moves on to the block of a time. No timer is due until then, so none is linked before.
func (w *Wheel) advance(now units.Time) {
	if d := now.Sub(w.start); d >= block {
		w.enter(w.now + uint64(d/block))
	}
}

// enter makes b, which is not before any timer's place, the block whose slots are kept apart.
func (w *Wheel) enter(b uint64) {
	w.start = w.start.Add(units.Duration(b-w.now) * block)
	far := b>>bucketBits != w.now>>bucketBits
	w.now = b
	for far && w.beyond != none {
		i := w.beyond
		if w.nodes[i].place>>slotBits>>bucketBits != b>>bucketBits {
			break
		}
		w.beyond = w.without(i, i)
		w.relink(i)
	}
	k := b % buckets
	heap := w.buckets[k]
	w.buckets[k] = none
	w.inBucket.clear(k)
	w.each(heap, w.relink)
}

// relink puts a node that was taken out of a bucket where it belongs.
func (w *Wheel) relink(i int32) {
	n := &w.nodes[i]
	if n.linked = n.armed; n.armed {
		w.link(i)
	}
}

func (w *Wheel) link(i int32) {
	n := &w.nodes[i]
	n.place, n.linked = n.slot, true
	switch b := n.place >> slotBits; {
	case b == w.now:
		w.append(n.place%slots, i)
	case b>>bucketBits == w.now>>bucketBits:
		k := b % buckets
		w.buckets[k] = w.meld(w.buckets[k], i)
		w.inBucket.set(k)
	default:
		w.beyond = w.meld(w.beyond, i)
	}
}

func (w *Wheel) unlink(i int32) {
	n := &w.nodes[i]
	n.linked = false
	switch b := n.place >> slotBits; {
	case b == w.now:
		w.remove(n.place%slots, i)
	case b>>bucketBits == w.now>>bucketBits:
		k := b % buckets
		if w.buckets[k] = w.without(w.buckets[k], i); w.buckets[k] == none {
			w.inBucket.clear(k)
		}
	default:
		w.beyond = w.without(w.beyond, i)
	}
}

// append puts a node at the end of the ring of slot k.
func (w *Wheel) append(k uint64, i int32) {
	n, head := &w.nodes[i], w.slots[k]
	if head == none {
		n.next, n.prev = i, i
		w.slots[k] = i
		w.inSlots.set(k)
		return
	}
	last := w.nodes[head].prev
	n.next, n.prev = head, last
	w.nodes[last].next, w.nodes[head].prev = i, i
}

// remove takes a node out of the ring of slot k.
func (w *Wheel) remove(k uint64, i int32) {
	n := &w.nodes[i]
	if n.next == i {
		w.slots[k] = none
		w.inSlots.clear(k)
	} else {
		w.nodes[n.prev].next, w.nodes[n.next].prev = n.next, n.prev
		if w.slots[k] == i {
			w.slots[k] = n.next
		}
	}
	n.next, n.prev = none, none
}

// slotOf answers the first slot that is not before a moment, nor before the block.
func (w *Wheel) slotOf(at units.Time) uint64 {
	first, d := w.now<<slotBits, min(at.Sub(w.start), units.Forever)
	if d <= 0 {
		return first
	}
	return first + uint64(d-1)/uint64(Slot) + 1
}

// timeOf answers when a slot is, which is not before the block.
func (w *Wheel) timeOf(slot uint64) units.Time {
	return w.start.Add(units.Duration(slot-w.now<<slotBits) * Slot)
}
