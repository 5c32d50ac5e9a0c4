package tocc

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/units"
)

// All but those of whole networks: `make lab-small` runs them.
func TestMicroExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, slices.DeleteFunc(slices.Clone(microExperiments),
		func(e *experiment.Experiment) bool {
			return e == tokenCC || e == tokenPriority || e == fig3ab
		}))
}

// steps returns a series with a value each microsecond.
func steps(values ...float64) *fabric.Series {
	s := &fabric.Series{}
	for i, v := range values {
		s.Add(units.Time(units.Duration(i)*units.Microsecond), v)
	}
	return s
}

func TestBinned(t *testing.T) {
	us := units.Microsecond
	assert.Equal(t, experiment.Values{1.5, 3.5}, binned(steps(1, 2, 3, 4, 9), 2*us, 0, 5*us),
		"an incomplete bin does not count")
	assert.Equal(t, experiment.Values{2, 3}, binned(steps(1, 2, 3, 4), us, us, 3*us))
}

func TestWithin(t *testing.T) {
	ms := units.Millisecond
	for _, c := range []struct {
		flows []experiment.Values
		after units.Duration
	}{
		{[]experiment.Values{{1, 1.2, 0.8}}, 0},
		{[]experiment.Values{{2, 1, 1}}, ms},
		{[]experiment.Values{{1, 1, 1}, {1, 0.5, 1}}, 2 * ms},
		{[]experiment.Values{{1, 1, 2}}, units.Forever},
	} {
		assert.Equal(t, c.after, within(0.25, ms, c.flows...), "%v", c.flows)
	}
}

func TestExcursions(t *testing.T) {
	high := 3*float64(packet) + 1
	assert.Equal(t, 2., excursions(steps(0, 0, high, high+5, 0, 0, 0, high, 0, 0), 0,
		10*units.Microsecond))
	assert.Zero(t, excursions(steps(100, 400, 100, high+200, 100), 0, 5*units.Microsecond),
		"not above three times the median and three packets")
}

func TestLongestBelow(t *testing.T) {
	assert.Equal(t, 2*bin, longestBelow(experiment.Values{1, 0.5, 0.89, 0.9, 0.2, 1}, 0.9, bin))
	assert.Zero(t, longestBelow(experiment.Values{0.9, 1}, 0.9, bin))
}

func TestVariation(t *testing.T) {
	assert.InDelta(t, 0.5, variation(experiment.Values{1, 3}), 1e-12)
	assert.Zero(t, variation(experiment.Values{4, 4, 4}))
	assert.True(t, math.IsNaN(variation(nil)))
}
