package chakra

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// encode encodes a trace as the schema says.
func encode(nodes ...Node) []byte {
	file := protowire.AppendBytes(nil, text(nil, 1, "0.0.4"))
	for _, n := range nodes {
		b := number(text(number(nil, 1, n.ID), 2, n.Name), 3, uint64(n.Kind))
		for i, id := range n.After {
			if i%2 == 0 { // not packed, then packed
				b = number(b, 4, id)
			} else {
				b = text(b, 5, string(protowire.AppendVarint(nil, id)))
			}
		}
		b = number(b, 7, uint64(n.Duration/units.Microsecond))
		peer := map[Kind]string{Send: "comm_dst", Receive: "comm_src"}[n.Kind]
		for name, v := range map[string]uint64{"comm_type": uint64(n.Operation),
			"comm_size": uint64(n.Bytes), peer: uint64(n.Peer), "comm_tag": uint64(n.Tag)} {
			b = text(b, 10, string(number(text(nil, 1, name), 9, v)))
		}
		if n.Group != "" {
			b = text(b, 10, string(text(text(nil, 1, "pg_name"), 29, n.Group)))
		}
		file = protowire.AppendBytes(file, b)
	}
	return file
}

// step computes for 10 µs, reduces a MiB, and computes again.
var step = []Node{
	{ID: 1, Name: "backward", Kind: 4, Duration: 10 * units.Microsecond},
	{ID: 2, Name: "gradients", Kind: Collective, Bytes: units.MiB, After: []uint64{1}},
	{ID: 3, Name: "optimizer", Kind: 4, Duration: 5 * units.Microsecond, After: []uint64{1, 2}},
}

func read(t testing.TB, name string, nodes ...Node) *Trace {
	trace, err := Read(name, bytes.NewReader(encode(nodes...)))
	require.NoError(t, err)
	return trace
}

func TestRead(t *testing.T) {
	nodes := append(step[:3:3],
		Node{ID: 4, Kind: Send, Bytes: 7, Peer: 3, Tag: 9, After: []uint64{2}},
		Node{ID: 5, Kind: Receive, Bytes: 7, Peer: 2, Group: "pipeline"})
	assert.Equal(t, &Trace{Name: "a.et", Nodes: nodes}, read(t, "a.et", nodes...))
}

// play lets every flow of a graph take a microsecond, and returns the flows, and the end.
func play(t *testing.T, g workload.Graph) (flows []workload.Flow, end units.Time) {
	s, err := g.Source()
	require.NoError(t, err)
	for f, ok := s.Next(); ok; f, ok = s.Next() {
		flows, end = append(flows, f), f.At.Add(units.Microsecond)
		s.Done(f, end)
	}
	require.False(t, s.Pending())
	return flows, end
}

// TestOperations checks the flows, the bytes and the number of steps of every algorithm on 8 ranks.
func TestOperations(t *testing.T) {
	const ranks, size = 8, units.Bytes(8000)
	for _, c := range []struct {
		op    Operation
		tree  bool
		flows int
		bytes units.Bytes
		steps units.Duration
	}{
		{AllReduce, false, 8 * 14, 1000, 14},
		{AllReduce, true, 14, size, 6}, // a tree of 8 has three levels below its root
		{AllGather, false, 8 * 7, 1000, 7},
		{ReduceScatter, false, 8 * 7, 1000, 7},
		{Reduce, false, 7, size, 3},
		{Broadcast, false, 7, size, 3},
		{AllToAll, false, 8 * 7, 1000, 1},
		{Gather, false, 7, 1000, 1},
		{Scatter, false, 7, 1000, 1},
		{Barrier, false, 14, 1, 6},
	} {
		traces := make([]*Trace, ranks)
		for i := range traces {
			traces[i] = read(t, "op.et",
				Node{ID: 1, Kind: Collective, Operation: c.op, Bytes: size})
		}
		g, err := Flows(traces, Config{Tree: c.tree})
		require.NoError(t, err)
		flows, end := play(t, g)
		assert.Len(t, flows, c.flows, "%+v", c)
		assert.Equal(t, units.Time(c.steps*units.Microsecond), end, "%+v", c)
		for _, f := range flows {
			assert.Equal(t, c.bytes, f.Bytes, "%+v", c)
		}
	}
}

// TestTrainingStep checks that a slow rank delays the reduction of all, and that chunks do not wait
// for each other.
func TestTrainingStep(t *testing.T) {
	traces := []*Trace{read(t, "0", step...), read(t, "1", step...), nil}
	slow := append([]Node(nil), step...)
	slow[0].Duration = 30 * units.Microsecond
	traces[2] = read(t, "2", slow...)
	g, err := Flows(traces, Config{Chunk: units.MiB / 4})
	require.NoError(t, err)
	flows, end := play(t, g)
	assert.Len(t, flows, 4*3*4)
	assert.Equal(t, units.Time(10*units.Microsecond), flows[0].At)
	assert.Equal(t, units.Time((30+4)*units.Microsecond), end)
}

// TestPipeline checks that a receive lets its rank go on when the message has arrived.
func TestPipeline(t *testing.T) {
	g, err := Flows([]*Trace{
		read(t, "0", Node{ID: 1, Kind: 4, Duration: 3 * units.Microsecond},
			Node{ID: 2, Kind: Send, Bytes: 100, Peer: 1, After: []uint64{1}}),
		read(t, "1", Node{ID: 1, Kind: Receive, Bytes: 100, Peer: 0},
			Node{ID: 2, Kind: Send, Bytes: 200, Peer: 2, After: []uint64{1}}),
		read(t, "2", Node{ID: 1, Kind: Receive, Bytes: 200, Peer: 1}),
	}, Config{})
	require.NoError(t, err)
	flows, end := play(t, g)
	assert.Len(t, flows, 2)
	assert.Equal(t, units.Time(5*units.Microsecond), end)
}

// TestErrors checks that errors name the file, the node and the rule.
func TestErrors(t *testing.T) {
	coll := Node{ID: 1, Kind: Collective, Bytes: 8}
	for want, ranks := range map[string][][]Node{
		"b.et: node 5 depends on itself": {{coll}, {coll, {ID: 5, Kind: 4, After: []uint64{6}},
			{ID: 6, Kind: 4, After: []uint64{5}}}},
		"a.et: node 1: rank 1 of group \"\" does not take part": {{coll}, {}},
		"b.et: node 1 is operation 0 of 9": {{coll},
			{{ID: 1, Kind: Collective, Bytes: 9}}},
		"a.et: node 1: 1 sends and 0 rec": {
			{{ID: 1, Kind: Send, Bytes: 1, Peer: 1}}, {}},
		"a.et: node 1: message from rank 0 to rank 7": {
			{{ID: 1, Kind: Send, Bytes: 1, Peer: 7}}, {}},
		"ranks wait for each other in a circle": {
			{{ID: 1, Kind: Receive, Bytes: 1, Peer: 1},
				{ID: 2, Kind: Send, Bytes: 1, Peer: 1, After: []uint64{1}}},
			{{ID: 1, Kind: Receive, Bytes: 1, Peer: 0},
				{ID: 2, Kind: Send, Bytes: 1, Peer: 0, After: []uint64{1}}}},
	} {
		traces := make([]*Trace, len(ranks))
		for i, nodes := range ranks {
			traces[i] = read(t, fmt.Sprintf("%c.et", 'a'+i), nodes...)
		}
		_, err := Flows(traces, Config{})
		assert.ErrorContains(t, err, want)
	}
	_, err := Flows([]*Trace{read(t, "a.et", coll), nil}, Config{})
	assert.ErrorContains(t, err, "rank 1 has no trace")
	for want, nodes := range map[string][]Node{
		"a.et: message 2: node 1 again":   {coll, coll},
		"size of 0 bytes":                 {{ID: 1, Kind: Send, Peer: 1}},
		"size of 1152921504606846976":     {{ID: 1, Kind: Collective, Bytes: 1 << 60}},
		"node 1 depends on node 2, which": {{ID: 1, Kind: 4, After: []uint64{2}}},
		"collective operation 99 out of":  {{ID: 1, Kind: Collective, Operation: 99}},
		"message 1: node 1 \"\": no type": {{ID: 1}},
		"duration of 172800000000 µs, w":  {{ID: 1, Kind: 4, Duration: 2 * 86400 * units.Second}},
	} {
		_, err := Read("a.et", bytes.NewReader(encode(nodes...)))
		assert.ErrorContains(t, err, want)
	}
	whole := encode(step...)
	_, err = Read("a.et", bytes.NewReader(whole[:len(whole)-1]))
	assert.ErrorContains(t, err, "a.et: message 3: unexpected EOF")
}

func FuzzRead(f *testing.F) {
	f.Add(encode(step...))
	f.Add(encode(Node{ID: 4, Kind: Send, Bytes: 7, Peer: 1}, Node{ID: 5, Kind: Receive, Bytes: 7}))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Read("fuzz.et", bytes.NewReader(data))
		if err != nil {
			require.ErrorContains(t, err, "fuzz.et")
			return
		}
		g, err := Flows([]*Trace{trace, trace}, Config{Chunk: units.GiB})
		if err != nil {
			return
		}
		_, err = g.Source()
		require.NoError(t, err)
	})
}
