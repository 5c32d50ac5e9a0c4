package tocc

import (
	"slices"

	"github.com/goroce/goroce/bench/lab/experiment"
)

// Experiments are those of this package.
var Experiments = slices.Concat(leafSpine, testbedExperiments)

// leafSpine are comparisons with reactive schemes in leaf-spine networks.
var leafSpine []*experiment.Experiment
