package carclab

import "github.com/goroce/goroce/lab/experiment"

// fabricExperiments run the transport in the fabric.
var fabricExperiments = []*experiment.Experiment{fig7, carcSwift, carcPrioPlus, carcToCC,
	stabilityGrid}
