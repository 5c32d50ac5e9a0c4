package bytetuninglab

import (
	"slices"
	"testing"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

// Searches and traversals take tens of seconds: `make lab-small` runs them.
func TestExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	long := []*experiment.Experiment{fig3a, fig3bc, fig11, fig13, table6, tunerOnModel, table8,
		compress}
	labtest.Small(t, slices.DeleteFunc(slices.Clone(Experiments),
		func(e *experiment.Experiment) bool {
			return slices.Contains(long, e)
		}))
}
