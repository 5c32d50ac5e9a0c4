package workload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

const flowTable = `bytes, time, src, dst, class
# from the cluster's log
1KiB, 2us, 0, 3, 1
4096, 1.5us, 2, 1, 0
`

func TestParseList(t *testing.T) {
	list, err := ParseList("flows.csv", strings.NewReader(flowTable), 4)
	require.NoError(t, err)
	s, err := list.Source()
	require.NoError(t, err)
	assert.Equal(t, []Flow{
		{ID: 0, At: units.Time(1500 * units.Nanosecond), Src: 2, Dst: 1, Bytes: 4096, Group: -1},
		{ID: 1, At: units.Time(2 * units.Microsecond), Src: 0, Dst: 3, Bytes: 1024, Group: -1,
			Class: 1},
	}, flows(s, 10))
}

// TestParseListErrors checks that errors name the file, the line and the rule.
func TestParseListErrors(t *testing.T) {
	const header = "time,src,dst,bytes\n"
	for text, want := range map[string]string{
		"":                                "empty file",
		"time,src,dst\n":                  "f.csv:1: no column bytes",
		"time,src,dst,bytes,src\n":        "f.csv:1: column src twice",
		"time,from,dst,bytes\n":           `f.csv:1: column "from"`,
		header + "1us,0,1,0\n":            "f.csv:2: size of 0 bytes out of range",
		header + "1us,0,1,1048577GiB\n":   "f.csv:2: size of",
		header + "\n\n1us,0,4,1\n":        "f.csv:4: host 4 out of range [0, 4)",
		header + "1us,0,1,1\n1us,2,2,1\n": "f.csv:3: flow from host 2 to itself",
		header + "-1us,0,1,1\n":           "f.csv:2: time -1us is negative",
		header + "1us,0,1\n":              "wrong number of fields",
		header + "1us,zero,1,1\n":         `f.csv:2: src "zero" is not a number`,
		header + "soon,0,1,1\n":           "f.csv:2: ",
	} {
		_, err := ParseList("f.csv", strings.NewReader(text), 4)
		assert.ErrorContains(t, err, want, "%q", text)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte(flowTable))
	f.Add([]byte("time,src,dst,bytes,group\n1ns,0,1,1,-1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseList("fuzz", bytes.NewReader(data), 4)
		if err != nil {
			require.ErrorContains(t, err, "fuzz")
			return
		}
		s, err := list.Source()
		require.NoError(t, err)
		last := units.Time(0)
		for range list {
			flow, ok := s.Next()
			require.True(t, ok)
			require.False(t, flow.At.Before(last))
			require.NoError(t, flow.check(4))
			last = flow.At
		}
	})
}
