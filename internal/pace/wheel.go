package pace

import (
	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/units"
)

// Slot is the resolution of a Wheel: a timer is due at the first multiple of Slot that is not
// before the timer's time. PacketSlot is the resolution of a Limiter, a tenth of a frame of 1 KB at
// 100 Gb/s.
const (
	PacketSlot = 8 * units.Nanosecond
	Slot       = PacketSlot << timerShift

	timerShift = 4
)

// The wheel has a slot for each of the next 4096 Slots (524 µs), a bucket for each such block of
// the next 1024 blocks (537 ms), and one bucket for everything later.
const (
	slotBits   = 12
	bucketBits = 10
	slots      = 1 << slotBits
	buckets    = 1 << bucketBits
)

// Wheel is a set of timers, at most one per number, ordered by the slot in which they are due. It
// is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987). Setting and stopping a timer
// takes constant time. The buckets are heaps, so Next is exact for any distance.
//
// Most timers are moved or stopped before they are due. A timer that is moved to a later time, or
// stopped, therefore stays linked at its old place until that place is the first of the wheel.
type Wheel struct {
	nodes []node     // timer i has node i+1; index none is unused
	now   uint64     // the block of slots, counted from the wheel's start
	start units.Time // start of that block
	shift uint8      // a slot is PacketSlot times two to this power

	slots    [slots]int32 // heads of rings, for the current block
	inSlots  bitmap
	buckets  [buckets]int32 // heaps, for the blocks that differ in the low bits only
	inBucket bitmap
	overflow int32 // a heap, for all later blocks

	cached   bool       // the following fields are valid
	nonEmpty bool       // there is a timer
	first    uint64     // slot of the first timer
	next     units.Time // time of that slot
}

// none is the index that stands for no node.
const none int32 = 0

// node is a timer.
type node struct {
	slot              uint64 // when it is due, counted from the wheel's start
	place             uint64 // the slot where it is linked: at most slot
	next, prev, child int32
	armed, linked     bool
}

// New returns a wheel that starts at now.
func New(now units.Time) *Wheel { return newWheel(now, timerShift) }

func newWheel(now units.Time, shift uint8) *Wheel {
	into := now % units.Time(PacketSlot<<shift)
	if into < 0 {
		into += units.Time(PacketSlot << shift)
	}
	return &Wheel{start: now - into, shift: shift, nodes: make([]node, 1)}
}

// block returns the length of a block.
func (w *Wheel) block() units.Duration { return slots * PacketSlot << w.shift }

// Set sets or moves timer id to a time. A time that has passed means now; one later than
// units.Forever from now means that.
func (w *Wheel) Set(id uint32, at units.Time) {
	for int(id)+1 >= len(w.nodes) {
		w.nodes = append(w.nodes, node{})
	}
	i := int32(id) + 1
	n := &w.nodes[i]
	slot := w.slotOf(at)
	if w.cached {
		switch {
		case !w.nonEmpty || slot < w.first:
			w.nonEmpty, w.first, w.next = true, slot, w.timeOf(slot)
		case n.armed && n.slot == w.first && slot != w.first:
			w.cached = false
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

// Prefetch fetches the memory of timer id into the cache.
func (w *Wheel) Prefetch(id uint32) {
	if int(id)+1 < len(w.nodes) {
		prefetch.Object(&w.nodes[id+1])
	}
}

// Stop stops timer id. A timer that was never set is stopped.
func (w *Wheel) Stop(id uint32) {
	if int(id)+1 >= len(w.nodes) {
		return
	}
	n := &w.nodes[id+1]
	if n.armed && n.slot == w.first {
		w.cached = false
	}
	n.armed = false
}

// IsSet reports whether timer id is set.
func (w *Wheel) IsSet(id uint32) bool { return int(id)+1 < len(w.nodes) && w.nodes[id+1].armed }

// Next returns the time at which the first timer is due, and false if there is none.
func (w *Wheel) Next() (units.Time, bool) {
	if !w.cached {
		w.find()
	}
	return w.next, w.nonEmpty
}

// Due stops and returns a timer that is due, the earliest slot first, and false if there is none.
// Time must not go back.
func (w *Wheel) Due(now units.Time) (id uint32, ok bool) {
	if !w.cached {
		w.find()
	}
	if !w.nonEmpty || w.next.After(now) {
		w.advance(now)
		return 0, false
	}
	if b := w.first >> slotBits; b != w.now {
		w.enter(b)
	}
	// The head of the ring is due: find unlinked the nodes before it, and enter relinked those that
	// moved.
	i := w.slots[w.first%slots]
	w.unlink(i)
	w.nodes[i].armed, w.cached = false, false
	return uint32(i - 1), true
}

// find finds the first timer. Nodes linked before it move to their slots.
func (w *Wheel) find() {
	w.cached, w.nonEmpty = true, true
	for {
		i := w.overflow
		switch {
		case w.inSlots.any != 0:
			i = w.slots[w.inSlots.first()]
		case w.inBucket.any != 0:
			i = w.buckets[w.inBucket.first()]
		}
		if i == none {
			w.nonEmpty = false
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

// advance moves to the block of a time. No timer is due until then, so none is linked before.
func (w *Wheel) advance(now units.Time) {
	if d := now.Sub(w.start); d >= w.block() {
		w.enter(w.now + uint64(d/w.block()))
	}
}

// enter makes b the current block, whose timers are kept in slots. No timer may be linked before b.
func (w *Wheel) enter(b uint64) {
	w.start = w.start.Add(units.Duration(b-w.now) * w.block())
	far := b>>bucketBits != w.now>>bucketBits
	w.now = b
	for far && w.overflow != none {
		i := w.overflow
		if w.nodes[i].place>>slotBits>>bucketBits != b>>bucketBits {
			break
		}
		w.overflow = w.without(i, i)
		w.relink(i)
	}
	k := b % buckets
	heap := w.buckets[k]
	w.buckets[k] = none
	w.inBucket.clear(k)
	w.each(heap, w.relink)
}

// relink links a node that was removed from a bucket, if it is armed.
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
		w.overflow = w.meld(w.overflow, i)
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
		w.overflow = w.without(w.overflow, i)
	}
}

// append adds a node to the end of the ring of slot k.
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

// remove removes a node from the ring of slot k.
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

// slotOf returns the first slot that is neither before a time nor before the current block.
func (w *Wheel) slotOf(at units.Time) uint64 {
	first, d := w.now<<slotBits, min(at.Sub(w.start), units.Forever)
	if d <= 0 {
		return first
	}
	return first + uint64(d-1)/uint64(PacketSlot)>>w.shift + 1
}

// timeOf returns the time of a slot, which must not be before the current block.
func (w *Wheel) timeOf(slot uint64) units.Time {
	return w.start.Add(units.Duration(slot-w.now<<slotBits) * PacketSlot << w.shift)
}
