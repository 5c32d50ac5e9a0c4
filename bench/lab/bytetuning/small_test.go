package bytetuninglab

import (
	"testing"

	"github.com/goroce/goroce/bench/lab/labtest"
)

func TestExperimentsAtSmallScale(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: the race detector takes minutes and has nothing to find")
	}
	labtest.Small(t, Experiments)
}
