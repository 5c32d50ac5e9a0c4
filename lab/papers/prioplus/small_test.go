package prioplus

import (
	"slices"
	"strings"
	"testing"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

// Whole networks take minutes: `make lab-small` runs them. The others take a few seconds each at
// most.
func TestExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, slices.DeleteFunc(slices.Clone(Experiments),
		func(e *experiment.Experiment) bool {
			return slices.Contains(largeExperiments, e) && !strings.HasSuffix(e.ID, "/fig12c")
		}))
}
