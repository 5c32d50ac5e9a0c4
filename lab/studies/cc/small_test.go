package cclab

import (
	"testing"

	"github.com/goroce/goroce/lab/labtest"
)

func TestAllExperimentsAtSmallScale(t *testing.T) {
	labtest.OneGoroutine(t)
	labtest.Small(t, Experiments)
}
