package taurus

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/units"
)

// The quick ones; `make lab-small` runs all.
func TestFabricExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, []*experiment.Experiment{fig8c, fig9eh, fig12, fig14b})
}

func TestKolmogorovSmirnov(t *testing.T) {
	for _, c := range []struct {
		what string
		x, y experiment.Values
		want float64
	}{
		{"the same, in another order", experiment.Values{3, 1, 2}, experiment.Values{1, 2, 3}, 0},
		{"the same in other numbers", experiment.Values{1, 2}, experiment.Values{1, 1, 2, 2}, 0},
		{"all below", experiment.Values{1, 2}, experiment.Values{3, 4}, 1},
		{"a quarter higher", experiment.Values{1, 1, 1, 1}, experiment.Values{1, 1, 1, 5}, 0.25},
		{"within", experiment.Values{1, 4}, experiment.Values{2, 3}, 0.5},
	} {
		assert.Equal(t, c.want, kolmogorovSmirnov(c.x, c.y), c.what)
		assert.Equal(t, c.want, kolmogorovSmirnov(c.y, c.x), c.what)
	}
}

// The difference of two rates over time is the largest at any time, however often they changed.
func TestDiffer(t *testing.T) {
	x := []rateAt{{0, 10}, {10, 20}, {20, 10}}
	for _, c := range []struct {
		what string
		y    []rateAt
		want float64
	}{
		{"itself", x, 0},
		{"a change to the same rate", []rateAt{{0, 10}, {5, 10}, {10, 20}, {20, 10}}, 0},
		{"later", []rateAt{{0, 10}, {11, 20}, {20, 10}}, 10},
		{"another end", []rateAt{{0, 10}, {10, 20}, {20, 10}, {30, 13}}, 3},
		{"never changed", []rateAt{{0, 12}}, 8},
		{"nothing", nil, math.Inf(1)},
	} {
		assert.Equal(t, c.want, differ(x, c.y), c.what)
		assert.Equal(t, c.want, differ(c.y, x), c.what)
	}
}

func TestDeviation(t *testing.T) {
	assert.InDelta(t, 0.5,
		deviation(&fabric.Series{Times: []units.Time{0, 1, 2, 3}, Values: []float64{1, 2, 1, 9}}, 0,
			2), 1e-12)
}
