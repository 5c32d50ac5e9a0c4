package main

import (
	"encoding/binary"
	"math/bits"

	"github.com/goroce/goroce/transport"
)

// word is eight bytes of a node that atomics of many queue pairs contend for. As a counter, each
// FETCH_ADD adds a bit of its own, so that a value shows exactly which of them have been executed.
// As a lock, each CMP_SWAP tries to replace zero by a bit of its own.
type word struct {
	node      *node
	op        transport.Op
	place     extent
	uses      []*atomicUse
	succeeded uint64 // bits of atomics that succeeded
	posted    uint64 // bits of atomics that were posted
}

// wordUses is the maximum number of atomics per word; a carry out of the highest bit must be
// visible.
const wordUses = 60

// atomicUse is one atomic on a word.
type atomicUse struct {
	word *word
	bit  uint64
	// bits of those that had succeeded, or were posted before on the same queue pair, at its post
	before uint64
	after  uint64 // value of the word after its execution; 0 until it succeeds
	end    *peerEnd
}

// allocWord returns a word of the node for an atomic.
func (n *node) allocWord(end *peerEnd, m *message) *atomicUse {
	r := n.sim.rng
	w := n.openWords[m.op]
	if w == nil || len(w.uses) == wordUses || r.chance(0.1) {
		if len(n.wordArena.region())-n.wordArena.used < 2*8 {
			n.wordArena = n.newArena("words", 4096)
			var err error
			n.wordArena.mr, err = n.endpoint.RegisterMemory(n.domain, n.wordArena.region(),
				transport.LocalWrite|transport.RemoteAtomic)
			if err != nil {
				n.failf("%v", err)
			}
		}
		w = &word{node: n, op: m.op, place: n.wordArena.alloc(8, 8)}
		clear(w.place.bytes())
		n.openWords[m.op] = w
		n.usedWords = append(n.usedWords, w)
	}
	u := &atomicUse{word: w, bit: 1 << len(w.uses), end: end}
	w.uses = append(w.uses, u)
	return u
}

// begin records the atomics known to precede this one and returns its operands.
func (u *atomicUse) begin(end *peerEnd) (compareAdd, swap uint64) {
	w := u.word
	u.before = w.succeeded
	for _, other := range w.uses {
		if other.end == end && w.posted&other.bit != 0 {
			u.before |= other.bit
		}
	}
	w.posted |= u.bit
	if w.op == transport.OpFetchAdd {
		return u.bit, 0
	}
	return 0, u.bit
}

// checkAtomic checks the result of an atomic.
func (end *peerEnd) checkAtomic(m *message) {
	u := m.atomic
	w, found := u.word, binary.NativeEndian.Uint64(m.local[0].bytes())
	if found&^w.posted != 0 || found&u.bit != 0 {
		end.failf(m, "found %#x, want only bits of %#x without its own %#x", found,
			w.posted, u.bit)
	}
	if w.op == transport.OpFetchAdd {
		end.checkFetchAdd(m, found)
	} else {
		end.checkCmpSwap(m, found)
	}
	w.succeeded |= u.bit
}

// checkFetchAdd checks that all results are consistent with one order.
func (end *peerEnd) checkFetchAdd(m *message, found uint64) {
	u := m.atomic
	if missing := u.before &^ found; missing != 0 {
		end.failf(m, "found %#x, want %#x set: executed before", found, missing)
	}
	u.after = found | u.bit
	for _, other := range u.word.uses {
		if other.after != 0 && other.after&u.after != other.after &&
			other.after&u.after != u.after {
			end.failf(m, "found %#x, another one %#x: no order of execution gives both",
				found, other.after&^other.bit)
		}
	}
}

// checkCmpSwap checks that exactly one CMP_SWAP acquired the lock.
func (end *peerEnd) checkCmpSwap(m *message, found uint64) {
	u := m.atomic
	u.after = found
	if found == 0 {
		u.after = u.bit
		if u.before != 0 {
			end.failf(m, "found the lock free after other CMP_SWAPs (%#x)", u.before)
		}
	}
	if bits.OnesCount64(found) > 1 {
		end.failf(m, "found %#x, want one bit", found)
	}
	for _, other := range u.word.uses {
		if other.after != 0 && other.after != u.after {
			end.failf(m, "found the lock held by %#x, another one by %#x", u.after, other.after)
		}
	}
}

// checkFinal checks the final value of a word and resets it to idle bytes.
func (w *word) checkFinal() {
	value := binary.NativeEndian.Uint64(w.place.bytes())
	switch {
	case value&^w.posted != 0:
		w.node.failf("word %+v holds %#x, want only bits of %#x", w.place, value,
			w.posted)
	case w.op == transport.OpFetchAdd && w.succeeded&^value != 0:
		w.node.failf("word %+v holds %#x, want %#x set: succeeded", w.place, value,
			w.succeeded&^value)
	case w.op == transport.OpCmpSwap && w.succeeded != 0 && bits.OnesCount64(value) != 1:
		w.node.failf("lock %+v holds %#x after CMP_SWAPs of %#x, want one bit", w.place, value,
			w.succeeded)
	}
	for _, u := range w.uses {
		if u.after == 0 {
			continue
		}
		if w.op == transport.OpFetchAdd && u.after&^value != 0 || w.op == transport.OpCmpSwap &&
			u.after != value {
			w.node.failf("word %+v holds %#x after %#x was observed", w.place, value, u.after)
		}
	}
	fillIdle(w.place.bytes())
}
