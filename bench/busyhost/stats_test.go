package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// runs returns outcomes with the given values; NaN is a failed run.
func runs(values ...float64) (o []outcome) {
	for _, v := range values {
		if math.IsNaN(v) {
			o = append(o, outcome{Error: "did not end in 20s"})
		} else {
			o = append(o, outcome{Value: v})
		}
	}
	return o
}

var failed = math.NaN()

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, median([]float64{3, 1, 2}))
	assert.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	assert.True(t, math.IsNaN(median(nil)))
	assert.True(t, math.IsNaN(least(nil)))
	v := []float64{3, 1}
	median(v)
	assert.Equal(t, []float64{3, 1}, v, "the argument keeps its order")
}

func TestOnlyEndedRunsHaveValues(t *testing.T) {
	assert.Equal(t, []float64{1, 3}, values(runs(1, failed, 3)))
	assert.Equal(t, []string{"did not end in 20s"}, failures(runs(1, failed, 3)))
}

func TestOrderIsReversedEveryOtherRound(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2}, order(3, 0))
	assert.Equal(t, []int{2, 1, 0}, order(3, 1))
	assert.Equal(t, []int{0, 1, 2}, order(3, 2))
}
