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

// Measures show the range over the seeds, and none with one seed.
func TestMeasures(t *testing.T) {
	encode := func(p *figure.Plot) string {
		_, svg, err := p.Encode()
		require.NoError(t, err)
		return string(svg)
	}
	mean := func(p Pool) float64 { return p.Values("fct").Mean() }
	for seeds, ranged := range map[uint64]bool{1: false, 3: true} {
		var jobs []Done
		for seed := range seeds {
			j := NewJob(t.Context(), Cell{Name: "a"}, Small, seed, nil)
			j.Value("fct", float64(seed), float64(seed)+2)
			jobs = append(jobs, Done{j.Cell, seed, j.Record()})
		}
		var m Measures
		m.Add(NewResults(Small, jobs).Cell("a"), mean)
		y := mean(NewResults(Small, jobs).Pool)
		lines, bars := figure.Lines("p", "t", "x", "y"), figure.Bars("p", "t", "y", "g")
		m.Line(lines, "a", []float64{7})
		m.Bars(bars, "a")
		wantLines := figure.Lines("p", "t", "x", "y").Add("a", []float64{7}, []float64{y})
		wantBars := figure.Bars("p", "t", "y", "g").Heights("a", y)
		if ranged {
			wantLines.Range([]float64{1}, []float64{3})
			wantBars.Range([]float64{1}, []float64{3})
		}
		assert.Equal(t, encode(wantLines), encode(lines))
		assert.Equal(t, encode(wantBars), encode(bars))
	}
}
