package workload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

const connections = `Nodes 4
Connections 4
Triggers 2
0->1 id 1 start 2000000 size 1000 send_done_trigger 1
2->1 id 2 start 0 size 2000 recv_done_trigger 1
1->3 id 3 trigger 1 size 3000 send_done_trigger 2
3->0 id 4 trigger 2 size 4000 prio 2
trigger id 1 barrier count 2
trigger id 2 oneshot
`

func TestParseMatrix(t *testing.T) {
	g, err := ParseMatrix("four.cm", strings.NewReader(connections))
	require.NoError(t, err)
	s, err := g.Source()
	require.NoError(t, err)
	var order []units.Bytes
	for {
		f, ok := s.Next()
		if !ok {
			break
		}
		order = append(order, f.Bytes)
		s.Done(f, f.At.Add(units.Microsecond))
		if f.Bytes == 1000 {
			assert.Equal(t, units.Time(2*units.Microsecond), f.At)
		}
	}
	assert.Equal(t, []units.Bytes{2000, 1000, 3000, 4000}, order)
	assert.False(t, s.Pending())
}

// TestParseMatrixErrors checks that errors name the file, the line and the rule.
func TestParseMatrixErrors(t *testing.T) {
	const one = "Nodes 4\nConnections 1\n"
	for text, want := range map[string]string{
		"":                            "f.cm:0: 0 flows, want 0 as Connections says",
		"0->1 start 0 size 1\n":       "f.cm:1: a flow before Nodes",
		one + "0->1 start 0 size 0\n": "f.cm:3: size of 0 bytes out of range",
		one + "0->1 start 0 size 1152921504606846976\n": "f.cm:3: size of 1152",
		one + "0->4 start 0 size 1\n":                   "f.cm:3: host 4 out of range [0, 4)",
		one + "1->1 start 0 size 1\n":                   "f.cm:3: flow from host 1 to itself",
		one + "0->1 size 1\n":                           "f.cm:3: a flow with neither start nor",
		one + "0->1 start 0 size\n":                     "f.cm:3: size has no value",
		one + "0->1 start x size 1\n":                   `f.cm:3: start "x"`,
		one + "0->1 trigger 1 size 1\n":                 "f.cm:3: no trigger has the ID 1",
		one + "0->1 start 0 speed 1\n":                  `f.cm:3: "speed"`,
		one + "loop\n":                                  `f.cm:3: "loop"`,
		one + "Nodes 4\n":                               "f.cm:3: Nodes twice",
		one + "trigger id 1 often\n":                    `f.cm:3: trigger "often"`,
		"Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1\n1->2 id 1 start 0 size 1\n": "f.cm:4: " +
			"flow 1 of line 3 again",
		"Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 1 size 1 send_done_trigger 1\n" +
			"trigger id 1 oneshot\n": "f.cm:4: the flow waits for itself",
		"Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 1 size 1\n" +
			"trigger id 1 oneshot\n": "f.cm:5: 0 flows activate trigger 1, want 1",
	} {
		_, err := ParseMatrix("f.cm", strings.NewReader(text))
		assert.ErrorContains(t, err, want, "%q", text)
	}
}

func FuzzParseMatrix(f *testing.F) {
	f.Add([]byte(connections))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParseMatrix("fuzz", bytes.NewReader(data))
		if err != nil {
			require.ErrorContains(t, err, "fuzz:")
			return
		}
		_, err = g.Source()
		require.NoError(t, err)
	})
}
