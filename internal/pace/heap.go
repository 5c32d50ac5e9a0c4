package pace

// The timers of a bucket are a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, Algorithmica
// 1986), linked through the nodes. Insertion and access to the minimum take constant time. A node's
// next is its right sibling, its child is the leftmost child, and its prev is the left sibling, or
// the parent of a leftmost child.

// meld merges two heaps and returns the root.
func (w *Wheel) meld(a, b int32) int32 {
	if a == none {
		return b
	}
	if b == none {
		return a
	}
	if w.nodes[b].place < w.nodes[a].place {
		a, b = b, a
	}
	parent, child := &w.nodes[a], &w.nodes[b]
	if child.next = parent.child; child.next != none {
		w.nodes[child.next].prev = b
	}
	child.prev, parent.child = a, b
	return a
}

// without removes i from a heap and returns the new root.
func (w *Wheel) without(root, i int32) int32 {
	n := &w.nodes[i]
	below := w.join(n.child)
	n.child = none
	if i == root {
		return below
	}
	if p := &w.nodes[n.prev]; p.child == i {
		p.child = n.next
	} else {
		p.next = n.next
	}
	if n.next != none {
		w.nodes[n.next].prev = n.prev
	}
	n.next, n.prev = none, none
	return w.meld(root, below)
}

// join merges a chain of siblings into one heap: in pairs, then from the last pair to the first.
func (w *Wheel) join(chain int32) (root int32) {
	pairs := none
	for chain != none {
		a, b := chain, w.nodes[chain].next
		chain = none
		if b != none {
			chain = w.nodes[b].next
			w.nodes[b].next, w.nodes[b].prev = none, none
		}
		w.nodes[a].next, w.nodes[a].prev = none, none
		pair := w.meld(a, b)
		w.nodes[pair].next = pairs
		pairs = pair
	}
	for pairs != none {
		pair := pairs
		pairs = w.nodes[pair].next
		w.nodes[pair].next = none
		root = w.meld(root, pair)
	}
	return root
}

// each unlinks every node of a heap and calls f with it.
func (w *Wheel) each(root int32, f func(i int32)) {
	for i := root; i != none; {
		n := &w.nodes[i]
		next := n.next
		if first := n.child; first != none { // visit the children before the other siblings
			last := first
			for w.nodes[last].next != none {
				last = w.nodes[last].next
			}
			w.nodes[last].next, next = next, first
		}
		n.next, n.prev, n.child = none, none, none
		f(i)
		i = next
	}
}
