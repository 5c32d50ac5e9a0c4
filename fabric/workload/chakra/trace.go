package chakra

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/goroce/goroce/units"
)

// Kind is the type of a node, with the numbers of the schema's enum NodeType.
type Kind uint8

// The kinds of nodes that communicate. All others take their duration.
const (
	Send       Kind = 5
	Receive    Kind = 6
	Collective Kind = 7
)

// Operation is a collective operation, with the numbers of the schema's enum CollectiveCommType.
type Operation uint8

// The collective operations.
const (
	AllReduce Operation = iota
	Reduce
	AllGather
	Gather
	Scatter
	Broadcast
	AllToAll
	ReduceScatter
	ReduceScatterBlock
	Barrier
	operations
)

// Node is one node of a trace.
type Node struct {
	ID       uint64
	Name     string
	Kind     Kind
	After    []uint64 // IDs of the nodes that it depends on, by control or data
	Duration units.Duration

	Operation Operation   // of a Collective
	Bytes     units.Bytes // of a Collective, Send or Receive
	Peer, Tag int         // of a Send: its destination; of a Receive: its source
	Group     string      // of a Collective: the name of its group of ranks; "" for all ranks
}

// Trace is the work of one rank.
type Trace struct {
	Name  string // of the file, for errors
	Nodes []Node
}

// maxMessage is the longest message of a trace. Nodes are some hundred bytes long.
const maxMessage = 1 << 24

// Read decodes a trace: messages with their lengths before them, of which the first has the
// metadata. Errors name the file, and the node or the number of the message.
func Read(name string, r io.Reader) (*Trace, error) {
	t, in, seen := &Trace{Name: name}, bufio.NewReader(r), map[uint64]bool{}
	for i := 0; ; i++ {
		message, err := readMessage(in)
		if errors.Is(err, io.EOF) && i > 0 {
			return t, t.check(seen)
		}
		if err == nil && i > 0 {
			var n Node
			if n, err = parseNode(message); err == nil && seen[n.ID] {
				err = fmt.Errorf("node %d again: want a number of its own", n.ID)
			}
			seen[n.ID] = true
			t.Nodes = append(t.Nodes, n)
		}
		if err != nil {
			return nil, fmt.Errorf("chakra: %s: message %d: %w", name, i, err)
		}
	}
}

// readMessage reads a message, and allocates no more than has arrived. It returns io.EOF at the end
// of the file.
func readMessage(r *bufio.Reader) (b []byte, err error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if size > maxMessage {
		return nil, fmt.Errorf("%d bytes long, want at most %d", size, maxMessage)
	}
	for len(b) < int(size) {
		piece := make([]byte, min(int(size)-len(b), 1<<16))
		if _, err := io.ReadFull(r, piece); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		b = append(b, piece...)
	}
	return b, nil
}

// check returns an error if a node depends on one that does not exist.
func (t *Trace) check(ids map[uint64]bool) error {
	for i := range t.Nodes {
		for _, before := range t.Nodes[i].After {
			if !ids[before] {
				return fmt.Errorf("chakra: %s: node %d depends on node %d, which does not exist",
					t.Name, t.Nodes[i].ID, before)
			}
		}
	}
	return nil
}
