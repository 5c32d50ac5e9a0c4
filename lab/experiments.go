package main

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	bytetuninglab "github.com/goroce/goroce/lab/papers/bytetuning"
	carclab "github.com/goroce/goroce/lab/papers/carc"
	"github.com/goroce/goroce/lab/papers/prioplus"
	"github.com/goroce/goroce/lab/papers/taurus"
	"github.com/goroce/goroce/lab/papers/tocc"
	cclab "github.com/goroce/goroce/lab/studies/cc"
	fabriclab "github.com/goroce/goroce/lab/studies/fabric"
	hostlab "github.com/goroce/goroce/lab/studies/host"
)

// experiments returns the experiments that this program can run. Each package of experiments lists
// its own in a variable Experiments of this type.
func experiments() []*experiment.Experiment {
	return slices.Concat(fabriclab.Experiments, cclab.Experiments, hostlab.Experiments,
		prioplus.Experiments, tocc.Experiments, taurus.Experiments,
		carclab.Experiments, bytetuninglab.Experiments)
}
