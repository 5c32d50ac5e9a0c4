package main

import (
	"slices"

	bytetuninglab "github.com/goroce/goroce/bench/lab/bytetuning"
	carclab "github.com/goroce/goroce/bench/lab/carc"
	cclab "github.com/goroce/goroce/bench/lab/cc"
	"github.com/goroce/goroce/bench/lab/experiment"
	fabriclab "github.com/goroce/goroce/bench/lab/fabric"
	hostlab "github.com/goroce/goroce/bench/lab/host"
	"github.com/goroce/goroce/bench/lab/prioplus"
	"github.com/goroce/goroce/bench/lab/taurus"
	"github.com/goroce/goroce/bench/lab/tocc"
)

// experiments answers all that this program can run. A package of experiments lists its own, in a
// variable Experiments of this type; they come together here.
func experiments() []*experiment.Experiment {
	return slices.Concat(fabriclab.Experiments, cclab.Experiments, hostlab.Experiments, prioplus.Experiments, tocc.Experiments, taurus.Experiments,
		carclab.Experiments, bytetuninglab.Experiments)
}
