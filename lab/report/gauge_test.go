package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/lab/claims"
)

func cellsOf(t *testing.T, paper, expect, value string) []Cell {
	c := &claims.Claim{Paper: paper}
	require.NoError(t, yaml.Unmarshal([]byte(expect), &c.Expect), expect)
	var v claims.Value
	require.NoError(t, json.Unmarshal([]byte(value), &v), value)
	return cells(c, &c.Expect, v)
}

// TestCells: a map is a table, points are named by x, other lists are a text.
func TestCells(t *testing.T) {
	const each = "{op: each, cond: {op: '<=', value: 2}}"
	got := cellsOf(t, "", each, `{"p2": 1.23456, "p4": 3}`)
	require.Len(t, got, 2)
	assert.Equal(t, []string{"p2", "1.23", "1.23456"}, []string{got[0].Name, got[0].Text,
		got[0].Exact})
	assert.Contains(t, got[0].Gauge, `class="y"`)
	assert.Contains(t, got[1].Gauge, `class="n"`)

	got = cellsOf(t, "", each, "[[4, 1], [8, 2]]")
	require.Len(t, got, 2)
	assert.Equal(t, "8", got[1].Name)
	got = cellsOf(t, "", "{op: monotone, dir: up}", "[1, 2, 3]")
	require.Len(t, got, 1)
	assert.Equal(t, "1, 2, 3", got[0].Text)
	assert.Empty(t, got[0].Gauge)
	many := "[" + strings.Repeat("[1, 1], ", manyCells) + "[1, 1]]"
	assert.Empty(t, cellsOf(t, "", each, many)[0].Gauge)
}

// TestPaperMarks: the paper's number is drawn if it can be read for certain.
func TestPaperMarks(t *testing.T) {
	for _, c := range []struct {
		paper, expect, value string
		want                 int // diamonds, in all pictures
	}{
		{"21 % (text, abstract)", "{op: between, low: 0.1, high: 0.3}", "0.12", 1},
		{"about 30 % (text)", "{op: between, low: 0.1, high: 0.4}", "0.12", 1},
		{"4.8x (abstract); which cell is not stated", "{op: '>=', value: 2}", "3", 1},
		{"40-210 us (text)", "{op: '>=', value: 10us}", `"15us"`, 2},
		{"40-210 us (text)", "{op: '>=', value: 0.5}", "3", 0},
		{"1.62, 1.52 (text, section 2)", "{op: each, cond: {op: '>=', value: 1}}",
			`{"a": 1.5, "b": 2}`, 2},
		{"1.62, 1.52, 1.4 (text)", "{op: each, cond: {op: '>=', value: 1}}", `{"a": 1.5, "b": 2}`,
			0},
		{"-2 % (A.2)", "{op: between, low: -0.1, high: 0}", "-0.05", 1},
		{"5 % (text)", "{op: '>=', value: 0.1}", "0.3", 0}, // the claim is another one
		{"figure 7a (drawing)", "{op: '>=', value: 0.1}", "0.3", 0},
		{"14.3/6.5 = 2.2 (text)", "{op: '>=', value: 0.1}", "0.3", 0},
		{"20 MB (text, IV-A)", "{op: '>=', value: 2 MB}", `"3MB"`, 1},
		{"4 (text)", "{op: monotone, dir: up}", "[1, 2]", 0},
	} {
		n := 0
		for _, cell := range cellsOf(t, c.paper, c.expect, c.value) {
			n += strings.Count(string(cell.Gauge), `class="p"`)
		}
		assert.Equal(t, c.want, n, c.paper)
	}
}

func TestScale(t *testing.T) {
	assert.False(t, scaleOf([]float64{1, 2}).logarithmic)
	assert.True(t, scaleOf([]float64{1, 1000}).logarithmic)
	for _, xs := range [][]float64{{0}, {5}, {-1, 0}, {1, 1e9}, {0, 1e-12}} {
		s := scaleOf(xs)
		for _, x := range append(xs, -1e300, 1e300) {
			assert.GreaterOrEqual(t, s.at(x), 0.0)
			assert.LessOrEqual(t, s.at(x), float64(gaugeWidth))
		}
	}
}
