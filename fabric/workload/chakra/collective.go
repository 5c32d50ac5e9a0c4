package chakra

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// maxTasks limits the memory of a graph.
const maxTasks = 1 << 24

// addOperation adds the flows of a collective operation, by its algorithm:
//   - all-reduce: a ring of 2(n-1) steps of an n-th each, or a reduction and a broadcast (Tree);
//   - reduce-scatter and all-gather: a ring of n-1 steps of an n-th of the whole vector each;
//   - reduce, broadcast and barrier: a binary tree with the first rank as its root;
//   - all-to-all: an n-th from every rank to every other, at once;
//   - gather and scatter: an n-th between the first rank and every other.
func (b *builder) addOperation(op *operation) error {
	parts, err := b.members(op)
	if err != nil || len(parts) == 1 {
		return err
	}
	left, chunk := op.first.node.Bytes, b.Chunk
	if op.first.node.Operation == Barrier {
		left = 1
	}
	if chunk <= 0 {
		chunk = left
	}
	chunk = max(chunk, (left+maxChunks-1)/maxChunks)
	for ; left > 0; left -= min(left, chunk) {
		b.addChunk(op.first.node.Operation, parts, min(left, chunk))
		if len(b.graph) > maxTasks {
			return fmt.Errorf("chakra: %s: node %d: more than %d flows, want longer chunks",
				b.traces[op.first.rank].Name, op.first.node.ID, maxTasks)
		}
	}
	return nil
}

// members returns the parts of an operation in the order of its group.
func (b *builder) members(op *operation) ([]part, error) {
	ranks, named := b.Groups[op.group]
	if !named {
		ranks = make([]int, len(b.traces))
		for i := range ranks {
			ranks[i] = i
		}
	}
	parts := make([]part, 0, len(ranks))
	for _, rank := range ranks {
		p, there := op.parts[rank]
		if !there {
			return nil, fmt.Errorf("chakra: %s: node %d: rank %d of group %q does not take part",
				b.traces[op.first.rank].Name, op.first.node.ID, rank, op.group)
		}
		parts = append(parts, p)
	}
	if len(parts) != len(op.parts) {
		return nil, fmt.Errorf("chakra: %s: node %d: %d ranks take part, want the %d different "+
			"ones of group %q", b.traces[op.first.rank].Name, op.first.node.ID, len(op.parts),
			len(parts), op.group)
	}
	return parts, nil
}

func (b *builder) addChunk(o Operation, parts []part, bytes units.Bytes) {
	n := len(parts)
	share := max(1, bytes/units.Bytes(n))
	switch o {
	case AllReduce:
		if !b.Tree {
			b.ring(parts, 2*(n-1), share)
			return
		}
		b.broadcast(parts, bytes, b.reduce(parts, bytes))
	case ReduceScatter, ReduceScatterBlock, AllGather:
		b.ring(parts, n-1, share)
	case Reduce:
		b.reduce(parts, bytes)
	case Broadcast:
		b.broadcast(parts, bytes, []int{parts[0].start})
	case Barrier:
		b.broadcast(parts, bytes, b.reduce(parts, bytes))
	case AllToAll:
		for step := 1; step < n; step++ {
			for i, from := range parts {
				b.flow(from, parts[(i+step)%n], share, []int{from.start})
			}
		}
	case Gather, Scatter:
		for _, p := range parts[1:] {
			from, to := p, parts[0]
			if o == Scatter {
				from, to = to, from
			}
			b.flow(from, to, share, []int{from.start})
		}
	}
}

// ring adds steps in which every rank sends to the next what it received in the step before.
func (b *builder) ring(parts []part, steps int, bytes units.Bytes) {
	n := len(parts)
	before := make([]int, n) // by rank: the flow to it in the step before
	for step := range steps {
		now := make([]int, n)
		for i, from := range parts {
			after := []int{from.start}
			if step > 0 {
				after = append(after, before[i])
			}
			now[(i+1)%n] = b.flow(from, parts[(i+1)%n], bytes, after)
		}
		before = now
	}
}

// reduce adds the flows to the root of a binary tree. It returns what the root waits for.
func (b *builder) reduce(parts []part, bytes units.Bytes) []int {
	waits := make([][]int, len(parts))
	for i := len(parts) - 1; i > 0; i-- { // children before their parents
		after := append(waits[i], parts[i].start)
		parent := (i - 1) / 2
		waits[parent] = append(waits[parent], b.flow(parts[i], parts[parent], bytes, after))
	}
	return append(waits[0], parts[0].start)
}

// broadcast adds the flows from the root of a binary tree, which waits for tasks.
func (b *builder) broadcast(parts []part, bytes units.Bytes, root []int) {
	waits := make([][]int, len(parts))
	waits[0] = root
	for i := 1; i < len(parts); i++ {
		parent := (i - 1) / 2
		after := append([]int{parts[parent].start}, waits[parent]...)
		waits[i] = []int{b.flow(parts[parent], parts[i], bytes, after)}
	}
}
