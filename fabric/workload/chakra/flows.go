package chakra

import (
	"fmt"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Config says how traces become flows. The zero value has ring algorithms without chunks.
type Config struct {
	// Groups are the ranks of named groups (attribute pg_name), in the order of their rings. A
	// group that is not in it has all ranks.
	Groups map[string][]int
	// Tree makes all-reduce a reduction and a broadcast along a binary tree, in place of a ring.
	Tree bool
	// Chunk is the longest piece into which a collective operation is cut; 0 means whole. Pieces do
	// not wait for each other. There are at most maxChunks.
	Chunk units.Bytes
}

const maxChunks = 256

// Flows returns the traffic of traces: traces[i] is the work of rank i, on host i. A node begins
// when those that it depends on have ended, on its own rank; nodes without a dependency overlap.
// The k-th operation of a group on one rank belongs to the k-th of all others, and the k-th send
// between two ranks with a tag to the k-th receive. A send ends with its receive.
func Flows(traces []*Trace, c Config) (workload.Graph, error) {
	b := &builder{Config: c, traces: traces, calls: map[call]*operation{},
		messages: map[link]*messages{}}
	for rank, t := range traces {
		if t == nil {
			return nil, fmt.Errorf("chakra: rank %d has no trace, want one for each of %d ranks",
				rank, len(traces))
		}
		if err := b.addRank(rank, t); err != nil {
			return nil, err
		}
	}
	if at, node := b.cycle(); node != nil {
		return nil, fmt.Errorf("chakra: %s: node %d depends on itself: want no cycle",
			traces[at].Name, node.ID)
	}
	for _, m := range b.messageOrder {
		if err := b.addMessages(m); err != nil {
			return nil, err
		}
	}
	for _, op := range b.callOrder {
		if err := b.addOperation(op); err != nil {
			return nil, err
		}
	}
	if _, err := b.graph.Source(); err != nil {
		return nil, fmt.Errorf("chakra: ranks wait for each other in a circle: %w", err)
	}
	return b.graph, nil
}

// builder makes a graph, in which every node has a task for its start and one for its end.
type builder struct {
	Config
	traces       []*Trace
	graph        workload.Graph
	nodes        []part // by half of the index of their tasks
	calls        map[call]*operation
	callOrder    []*operation
	messages     map[link]*messages
	messageOrder []*messages
}

// part is a rank's node, with its tasks.
type part struct {
	rank       int
	node       *Node
	start, end int
}

// call is the index-th operation of a group.
type call struct {
	group string
	index int
}

type operation struct {
	group string
	first part
	parts map[int]part // by rank
}

// link is where messages with a tag go.
type link struct{ src, dst, tag int }

type messages struct {
	link
	sends, receives []part
}

func (b *builder) task(t workload.Task) int {
	t.Group = -1
	b.graph = append(b.graph, t)
	return len(b.graph) - 1
}

// addRank adds the nodes of a rank and their dependencies.
func (b *builder) addRank(rank int, t *Trace) error {
	parts := make(map[uint64]part, len(t.Nodes))
	indices := map[string]int{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		p := part{rank: rank, node: n, start: b.task(workload.Task{})}
		p.end = b.task(workload.Task{After: []int{p.start}})
		parts[n.ID], b.nodes = p, append(b.nodes, p)
		switch n.Kind {
		case Collective:
			if err := b.join(call{n.Group, indices[n.Group]}, p); err != nil {
				return err
			}
			indices[n.Group]++
		case Send:
			m := b.between(link{rank, n.Peer, n.Tag})
			m.sends = append(m.sends, p)
		case Receive:
			m := b.between(link{n.Peer, rank, n.Tag})
			m.receives = append(m.receives, p)
		default:
			b.graph[p.end].Delay = n.Duration
		}
	}
	for i := range t.Nodes {
		start := &b.graph[parts[t.Nodes[i].ID].start]
		for _, before := range t.Nodes[i].After {
			start.After = append(start.After, parts[before].end)
		}
	}
	return nil
}

// cycle returns a node that depends on itself, and its rank. No rank waits for another yet.
func (b *builder) cycle() (rank int, n *Node) {
	if at := b.graph.Cycle(); at >= 0 {
		return b.nodes[at/2].rank, b.nodes[at/2].node
	}
	return 0, nil
}

// join adds a rank's part to an operation.
func (b *builder) join(k call, p part) error {
	op := b.calls[k]
	if op == nil {
		op = &operation{group: k.group, first: p, parts: map[int]part{}}
		b.calls[k], b.callOrder = op, append(b.callOrder, op)
	}
	if one, other := op.first.node, p.node; one.Operation != other.Operation ||
		one.Bytes != other.Bytes {
		return fmt.Errorf("chakra: %s: node %d is operation %d of %d bytes, want operation %d of "+
			"%d bytes as node %d of rank %d", b.traces[p.rank].Name, other.ID, other.Operation,
			int64(other.Bytes), one.Operation, int64(one.Bytes), one.ID, op.first.rank)
	}
	op.parts[p.rank] = p
	return nil
}

func (b *builder) between(l link) *messages {
	m := b.messages[l]
	if m == nil {
		m = &messages{link: l}
		b.messages[l], b.messageOrder = m, append(b.messageOrder, m)
	}
	return m
}

// addMessages adds the flows between two ranks.
func (b *builder) addMessages(m *messages) error {
	one := append(m.sends[:len(m.sends):len(m.sends)], m.receives...)[0]
	switch ranks := len(b.traces); {
	case m.src == m.dst || m.src < 0 || m.src >= ranks || m.dst < 0 || m.dst >= ranks:
		return fmt.Errorf("chakra: %s: node %d: message from rank %d to rank %d, want two of %d "+
			"ranks", b.traces[one.rank].Name, one.node.ID, m.src, m.dst, ranks)
	case len(m.sends) != len(m.receives):
		return fmt.Errorf("chakra: %s: node %d: %d sends and %d receives from rank %d to rank %d "+
			"with tag %d, want as many", b.traces[one.rank].Name, one.node.ID, len(m.sends),
			len(m.receives), m.src, m.dst, m.tag)
	}
	for i, s := range m.sends {
		b.flow(s, m.receives[i], s.node.Bytes, []int{s.start})
	}
	return nil
}

// flow adds a flow between two parts, which end after it, and returns its task.
func (b *builder) flow(from, to part, bytes units.Bytes, after []int) int {
	at := b.task(workload.Task{After: after, Bytes: bytes, Src: from.rank, Dst: to.rank})
	for _, end := range [2]int{from.end, to.end} {
		b.graph[end].After = append(b.graph[end].After, at)
	}
	return at
}
