package taurus

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
)

// Experiments are those of this package.
var Experiments = slices.Concat(benchExperiments, fabricExperiments)

// oneSeed is for what has nothing random, and for what is of the machine it runs on.
func oneSeed(experiment.Scale) int { return 1 }
