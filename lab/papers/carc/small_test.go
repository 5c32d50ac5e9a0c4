package carclab

import (
	"testing"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

// The others take a minute together: `make lab-small` runs them.
func TestExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, []*experiment.Experiment{fig3, fig4, eq1, sec4negative, fig7, carcSwift})
}
