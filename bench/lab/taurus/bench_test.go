package taurus

import (
	"slices"
	"testing"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/labtest"
)

// Those that take two cores for as long as it takes, but one, and the limiter's: `make lab-small` runs them.
func TestBenchExperimentsAtSmallScale(t *testing.T) {
	labtest.OneGoroutine(t)
	labtest.Small(t, slices.DeleteFunc(slices.Clone(benchExperiments), func(e *experiment.Experiment) bool {
		return e == fig2ab || e == table2 || e == limiter
	}))
}
