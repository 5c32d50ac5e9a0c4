package taurus

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
)

// Experiments are the experiments of this package.
var Experiments = slices.Concat(benchExperiments, fabricExperiments)

// oneSeed is the number of seeds of experiments without randomness, and of those that measure the
// machine.
func oneSeed(experiment.Scale) int { return 1 }
