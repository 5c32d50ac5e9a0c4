// Package bytetuninglab holds experiments of ByteTuning (IEEE TCC 2025), one a file: its formulas,
// its three cases of harmful watermarks, its fluid model, its tuner on the model and on scenarios
// of the fabric, telemetry, and the translator.
package bytetuninglab

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = []*experiment.Experiment{
	formulas, case1, case2, case3, fig3a, fig3bc, fig5, fluidFixedPoint, fig6, fig7, alg1, fig10,
	fig11, fig12, table5, fig13, table6, table7, table8,
	compress, translate, tunerOnModel,
}

const (
	us   = units.Microsecond
	ms   = units.Millisecond
	gbps = units.Gbps
)

// oneSeed is the number of seeds of experiments without randomness.
func oneSeed(experiment.Scale) int { return 1 }
