package experiment

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/units"
)

// results returns the results of two cells with two seeds. The value "share" is 10·cell + seed;
// "rate" is a series at x = 0, 1; "rare" is in one job only, and empty.
func results(t *testing.T) *Results {
	var jobs []Done
	for _, c := range Sweep("n=%d", 1, 2) {
		for seed := range uint64(2) {
			j := NewJob(t.Context(), c, Small, seed, nil)
			v := float64(10*c.Params.(int)) + float64(seed)
			j.Value("share", v)
			j.Series("rate").Add(0, v)
			j.Series("rate").Add(1, v)
			jobs = append(jobs, Done{c, seed, j.Record()})
		}
	}
	jobs[0].Record.values("rare")
	return NewResults(Small, jobs)
}

func TestPools(t *testing.T) {
	r := results(t)
	assert.Equal(t, Values{10, 11, 20, 21}, r.Values("share"))
	assert.Equal(t, Values{20, 21}, r.Cell("n=2").Values("share"))
	assert.Equal(t, Series{Values{0, 1, 0, 1}, Values{10, 10, 11, 11}},
		r.Cell("n=1").Series("rate"))
	assert.Equal(t, Values{11, 21}, r.Seeds()[1].Values("share"), "one seed of all cells")
	assert.Equal(t, Values{21}, r.Seeds()[1].Cell("n=2").Values("share"))
	assert.Equal(t, Values{21}, r.Cell("n=2").Seeds()[1].Values("share"))
	assert.Equal(t, Series{Values{0, 1e6}, Values{10, 10}},
		r.Cell("n=1").Seeds()[0].Series("rate").Scaled(1e6, 1))
	assert.Empty(t, r.Values("rare"))
	cells := r.Cells()
	require.Len(t, cells, 2)
	assert.Equal(t, "n=2", cells[1].Name)
	assert.Equal(t, 2, cells[1].Params)
	_, _, err := r.Verdicts()
	assert.NoError(t, err)
}

// TestMisspeltNamesAreErrors: a misspelt name must not become an empty figure.
func TestMisspeltNamesAreErrors(t *testing.T) {
	for want, mistake := range map[string]func(r *Results){
		`no values "fct"`:                func(r *Results) { r.Values("fct") },
		`no values "fct" in cell "n=1"`:  func(r *Results) { r.Cell("n=1").Values("fct") },
		`no values "rare" in cell "n=2"`: func(r *Results) { r.Cell("n=2").Values("rare") },
		`no series "fct" in cell "n=2"`: func(r *Results) {
			r.Seeds()[0].Cell("n=2").Series("fct")
		},
		`no cell "n=3"`: func(r *Results) {
			r.Cell("n=3").Seeds()
			r.Cell("n=3").Values("share")
		},
		"claim a: a value cannot be a []string": func(r *Results) { r.Claim("a", []string{"x"}) },
		"claim a: two values": func(r *Results) {
			r.Claim("a", 1)
			r.Claim("a", 1)
		},
	} {
		r := results(t)
		mistake(r)
		_, _, err := r.Verdicts()
		assert.EqualError(t, err, want)
	}
}

func TestClaim(t *testing.T) {
	for want, v := range map[string]any{
		"0.5":      0.5,
		"null":     math.NaN(),
		"infinite": math.Inf(1),
		"7":        7,
		"[1, 2]":   []float64{1, 2},
		"[1, 3]":   Values{1, 3},
		"true":     true,
		"shared":   "shared",
		"2.5us":    2500 * units.Nanosecond,
		"100Gb/s":  100 * units.Gbps,
		"{a: 1}":   claims.Value{}.With("a", claims.Number(1)),
		"1.5ms":    Seconds(0.0015),
		"-1us":     Seconds(-1e-6),
	} {
		r := results(t)
		r.Claim("a", v)
		values, _, err := r.Verdicts()
		require.NoError(t, err)
		assert.Equal(t, want, values["a"].String())
	}
	assert.Equal(t, claims.Size(8*units.KiB), claimed(t, 8*units.KiB))
}

func TestSeconds(t *testing.T) {
	assert.Equal(t, "infinite", Seconds(math.Inf(1)).String(), "an event that never happened")
	assert.Equal(t, "infinite", Seconds(1e300).String())
	assert.True(t, Seconds(math.NaN()).IsNull(), "a quantity that was not measured")
}

func claimed(t *testing.T, v any) claims.Value {
	r := results(t)
	r.Claim("a", v)
	values, _, err := r.Verdicts()
	require.NoError(t, err)
	return values["a"]
}

func TestNote(t *testing.T) {
	r := results(t)
	r.Note("a", "%d of %d", 1, 2)
	_, notes, err := r.Verdicts()
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1 of 2"}, notes)
}
