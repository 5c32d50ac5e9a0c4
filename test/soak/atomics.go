package main

import (
	"encoding/binary"
	"math/bits"

	"github.com/goroce/goroce/transport"
)

// word is eight bytes of a node that atomics of many queue pairs contend for. As a counter each
// FETCH_ADD adds a bit of its own, so that a value tells exactly which of them have been executed.
// As a lock, each CMP_SWAP wants to put its own bit where none was.
type word struct {
	node    *node
	op      transport.SendOp
	place   extent
	uses    []*atomicUse
	done    uint64 // bits of those that succeeded
	started uint64 // bits of those that were posted
}

// uses of one word, at most: a carry out of the highest bit must be seen.
const wordUses = 60

// atomicUse is one atomic's part in a word.
type atomicUse struct {
	word *word
	bit  uint64
	// bits of those that had succeeded, or come before on the same queue pair, when it was posted
	before uint64
	after  uint64 // what was in the word when it had been executed, when it succeeded
	side   *side
}

// word finds a word of the node for an atomic.
func (n *node) word(x *side, m *message) *atomicUse {
	d := n.world.dice
	w := n.open[m.op]
	if w == nil || len(w.uses) == wordUses || d.chance(0.1) {
		if len(n.words.region())-n.words.used < 2*8 {
			n.words = n.newArena("words", 4096)
			var err error
			n.words.mr, err = n.endpoint.RegisterMemory(n.domain, n.words.region(),
				transport.LocalWrite|transport.RemoteAtomic)
			if err != nil {
				n.violated("%v", err)
			}
		}
		w = &word{node: n, op: m.op, place: n.words.take(8, 8)}
		clear(w.place.bytes())
		n.open[m.op] = w
		n.used = append(n.used, w)
	}
	u := &atomicUse{word: w, bit: 1 << len(w.uses), side: x}
	w.uses = append(w.uses, u)
	return u
}

// begin notes what is certain as the atomic is posted, and answers its arguments.
func (u *atomicUse) begin(x *side) (compareAdd, swap uint64) {
	w := u.word
	u.before = w.done
	for _, other := range w.uses {
		if other.side == x && w.started&other.bit != 0 {
			u.before |= other.bit
		}
	}
	w.started |= u.bit
	if w.op == transport.OpFetchAdd {
		return u.bit, 0
	}
	return 0, u.bit
}

// found judges the result of an atomic.
func (x *side) found(m *message) {
	u := m.atomic
	w, found := u.word, binary.NativeEndian.Uint64(m.local[0].bytes())
	if found&^w.started != 0 || found&u.bit != 0 {
		x.violated(m, "found %#x, of which only %#x were posted besides its own %#x", found,
			w.started, u.bit)
	}
	if w.op == transport.OpFetchAdd {
		x.counted(m, found)
	} else {
		x.locked(m, found)
	}
	w.done |= u.bit
}

// counted checks that all who succeeded saw one order.
func (x *side) counted(m *message, found uint64) {
	u := m.atomic
	if missing := u.before &^ found; missing != 0 {
		x.violated(m, "found %#x without %#x, which were executed before", found, missing)
	}
	u.after = found | u.bit
	for _, other := range u.word.uses {
		if other.after != 0 && other.after&u.after != other.after &&
			other.after&u.after != u.after {
			x.violated(m, "found %#x, another one %#x: there is no order in which both could be",
				found, other.after&^other.bit)
		}
	}
}

// locked checks that one of all got the lock.
func (x *side) locked(m *message, found uint64) {
	u := m.atomic
	u.after = found
	if found == 0 {
		u.after = u.bit
		if u.before != 0 {
			x.violated(m, "found the lock free after others (%#x) had tried", u.before)
		}
	}
	if bits.OnesCount64(found) > 1 {
		x.violated(m, "found %#x, which nobody swapped in", found)
	}
	for _, other := range u.word.uses {
		if other.after != 0 && other.after != u.after {
			x.violated(m, "found the lock taken by %#x, another one by %#x", u.after, other.after)
		}
	}
}

// settle checks what a word holds at the end, and puts it to rest.
func (w *word) settle() {
	value := binary.NativeEndian.Uint64(w.place.bytes())
	switch {
	case value&^w.started != 0:
		w.node.violated("word %+v holds %#x, of which only %#x were posted", w.place, value,
			w.started)
	case w.op == transport.OpFetchAdd && w.done&^value != 0:
		w.node.violated("word %+v holds %#x without %#x, which succeeded", w.place, value,
			w.done&^value)
	case w.op == transport.OpCmpSwap && w.done != 0 && bits.OnesCount64(value) != 1:
		w.node.violated("lock %+v holds %#x after %#x tried", w.place, value, w.done)
	}
	for _, u := range w.uses {
		if u.after == 0 {
			continue
		}
		if w.op == transport.OpFetchAdd && u.after&^value != 0 || w.op == transport.OpCmpSwap &&
			u.after != value {
			w.node.violated("word %+v holds %#x, but %#x was seen", w.place, value, u.after)
		}
	}
	restore(w.place.bytes())
}
