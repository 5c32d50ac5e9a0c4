package taurus

import "github.com/goroce/goroce/bench/lab/experiment"

// fabricExperiments are those of whole networks, in the fabric.
var fabricExperiments = []*experiment.Experiment{fig8c, fig9ad, fig9eh, fig10, fig11, separation}
