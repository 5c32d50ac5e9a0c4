package taurus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// benchExperiments need no network: they are measured on this machine, or counted.
var benchExperiments = []*experiment.Experiment{
	fig2ab, table1, eq12, fig8a, fig8b, table2, table3, probes, handler, limiter,
}

const (
	us   = units.Microsecond
	ms   = units.Millisecond
	gbps = units.Gbps

	mtu units.Bytes = 4096 // payload of a full packet
)
