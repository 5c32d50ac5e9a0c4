package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/sim/figure"
)

// Curves and Distributions draw each cell, Curves its first seed.
func TestDraw(t *testing.T) {
	var jobs []Done
	for _, name := range []string{"a", "b"} {
		for seed := range uint64(2) {
			j := NewJob(t.Context(), Cell{Name: name}, Small, seed, nil)
			j.Series("rate").Add(1, float64(seed))
			j.Value("fct", 1, float64(seed)+2)
			jobs = append(jobs, Done{j.Cell, seed, j.Record()})
		}
	}
	r := NewResults(Small, jobs)
	encode := func(p *figure.Plot) string {
		_, svg, err := p.Encode()
		require.NoError(t, err)
		return string(svg)
	}
	lines := func() *figure.Plot { return figure.Lines("p", "title", "x", "y") }
	assert.Equal(t, encode(lines().Add("a", []float64{1000}, []float64{0}).
		Add("b", []float64{1000}, []float64{0})), encode(r.Curves(lines(), "rate", 1e3, 1)))
	cdf := func() *figure.Plot { return figure.CDF("p", "title", "x") }
	both := []float64{10, 20, 10, 30}
	assert.Equal(t, encode(cdf().Samples("a", both).Samples("b", both)),
		encode(r.Distributions(cdf(), "fct", 10)))
}
