package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDigest: cell, seed, names, values and series count.
func TestDigest(t *testing.T) {
	done := func(cell string, seed uint64, name string, value float64) []Done {
		r := &Record{}
		r.Add(name, Values{value})
		r.AddSeries("s", Series{X: []float64{1}, Y: []float64{value}})
		return []Done{{Cell: Cell{Name: cell}, Seed: seed, Record: r}}
	}
	seen := map[string]bool{}
	for _, tasks := range [][]Done{done("a", 1, "n", 1), done("b", 1, "n", 1), done("a", 2, "n", 1),
		done("a", 1, "m", 1), done("a", 1, "n", 1.000001), nil} {
		digest, err := Digest(tasks)
		require.NoError(t, err)
		assert.Len(t, digest, 12)
		seen[digest] = true
		again, err := Digest(tasks)
		require.NoError(t, err)
		assert.Equal(t, digest, again)
	}
	assert.Len(t, seen, 6)
}
