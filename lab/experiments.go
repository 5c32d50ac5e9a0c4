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

// experiments answers all that this program can run. A package of experiments lists its own, in a
// variable Experiments of this type; they come together here.
func experiments() []*experiment.Experiment {
	return slices.Concat(fabriclab.Experiments, cclab.Experiments, hostlab.Experiments,
		prioplus.Experiments, tocc.Experiments, taurus.Experiments,
		carclab.Experiments, bytetuninglab.Experiments)
}
