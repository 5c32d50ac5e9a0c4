package carclab

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = slices.Concat(modelExperiments, fabricExperiments)

// modelExperiments are the closed models, and the experiment on this machine.
var modelExperiments = []*experiment.Experiment{fig2, fig3, fig4, fig5a, fig5bc, eq1, sec4negative,
	fig8a, fig8b, table1, fig8real}

const (
	us   = units.Microsecond
	ms   = units.Millisecond
	gbps = units.Gbps
)

// oneSeed is the number of seeds of experiments without randomness.
func oneSeed(experiment.Scale) int { return 1 }
