package taurus

import (
	"testing"

	"github.com/goroce/goroce/bench/lab/labtest"
)

func TestBenchExperimentsAtSmallScale(t *testing.T) {
	labtest.OneGoroutine(t)
	labtest.Small(t, benchExperiments)
}
