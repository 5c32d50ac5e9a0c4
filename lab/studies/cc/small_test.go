package cclab

import (
	"testing"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/labtest"
)

func TestAllExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, Experiments)
}
