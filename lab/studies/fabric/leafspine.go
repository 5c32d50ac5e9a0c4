package fabriclab

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// leafSpine: WebSearch in ToCC's network.
var leafSpine = &experiment.Experiment{
	ID:  "fabric/leafspine",
	Run: runLeafSpine,
	Judge: func(r *experiment.Results) {
		r.Claim("complete", r.Values("incomplete").Sum())
		r.Claim("small-flows", r.Values("small slowdown").Percentile(50))
		r.Claim("conservation", r.Values("missing").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		slowdown := figure.CDF("slowdown", "Slowdown by size", "slowdown")
		for _, class := range []string{"small", "middle", "large"} {
			slowdown.Samples(class, r.Values(class+" slowdown"))
		}
		return []figure.Figure{slowdown}
	},
}

func runLeafSpine(j *experiment.Job) error {
	shape, span := fabric.ToCC(100*gbps, 400*gbps), 10*units.Millisecond
	if j.Scale == experiment.Small {
		shape.Leaves, shape.HostsPerLeaf, span = 2, 8, 2*units.Millisecond
	}
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Alpha: 0.25, Resume: 8 * units.KiB,
		Headroom: 64 * units.KiB}
	const bdp = 65_800
	r, err := sim.Scenario{
		Topology: shape,
		Hosts:    sim.Hosts{PathMTU: 4 * units.KiB, Timeout: 14, Cold: true},
		Scheme: sim.Scheme{
			Algorithm: func() cc.Algorithm { return &cc.Fixed{Window: bdp} },
			Switch:    fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: qs.At()},
		},
		Workload: sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.6, span), Span: span},
		Probes: sim.Probes{Progress: func(at units.Duration) {
			j.Progress(0.9 * float64(at) / float64(span))
		}},
		Seed: j.Seed, Until: 100 * span, Step: 100 * units.Microsecond,
	}.Run(j.Context())
	if err != nil {
		return err
	}
	classes := []struct {
		name  string
		below units.Bytes
	}{{"small", 100_000}, {"middle", 1_000_000}, {"large", math.MaxInt64}}
	for _, c := range classes {
		j.Value(c.name + " slowdown")
	}
	for _, f := range r.Flows {
		for _, c := range classes {
			if f.Bytes < c.below {
				j.Value(c.name+" slowdown", f.Slowdown())
				break
			}
		}
	}
	j.Value("incomplete", float64(r.Unfinished))
	j.Value("missing", math.Abs(float64(r.Simulation.Net.Ledger().Missing())))
	return nil
}
