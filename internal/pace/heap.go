package pace

// The timers of a bucket are a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, Algorithmica
// 1986), linked through the nodes: to put one in and to know the first takes constant time. A
// node's next is its right sibling, its child the leftmost child; its prev is the left sibling, or
// the parent of a leftmost child.

// meld makes one heap of two.
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

// without takes i out of a heap.
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

// join makes one heap of a chain of siblings: by pairs, then from the last pair to the first.
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

// each calls f with every node of a heap, which falls apart.
func (w *Wheel) each(root int32, f func(i int32)) {
	for i := root; i != none; {
		n := &w.nodes[i]
		next := n.next
		if first := n.child; first != none { // the children come before the other siblings
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
