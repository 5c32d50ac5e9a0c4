package taurus

import "github.com/goroce/goroce/bench/lab/experiment"

// benchExperiments are those without a network: measured on this machine, or counted.
var benchExperiments = []*experiment.Experiment{}
