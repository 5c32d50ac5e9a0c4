package taurus

import "github.com/goroce/goroce/lab/experiment"

// fabricExperiments simulate whole networks, in the fabric.
var fabricExperiments = []*experiment.Experiment{fig2cd, fig8c, fig9ad, fig9eh, fig10, fig11, fig12,
	fig13, fig14a, fig14b, fig14cd, separation}
