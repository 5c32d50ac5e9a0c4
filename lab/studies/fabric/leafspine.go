package fabriclab

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// leafSpine: WebSearch over the network of ToCC, as a whole.
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
	qs[0] = fabric.Queue{Lossless: true, Alpha: 0.25, Resume: 8 * units.KiB, Headroom: 64 * units.KiB}
	net := shape.Build(fabric.Parts{Config: fabric.Config{Seed: j.Seed}, Switch: fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: qs.At()}})
	const bdp = 65_800
	cl, err := sim.New(sim.Scenario{
		Topology: sim.On(net),
		Seed:     j.Seed,
		Hosts:    sim.Hosts{PathMTU: transport.MTU4096, Timeout: 14},
		Scheme:   sim.Scheme{Algorithm: func() cc.Algorithm { return &cc.Fixed{Window: bdp} }},
	})
	if err != nil {
		return err
	}
	hosts := len(net.Hosts())
	traffic, err := workload.Poisson{
		Hosts: hosts, Rate: shape.Host.Rate * 4096 / (4096 + 58 + outside), Load: 0.6, Sizes: workload.WebSearch, Seed: j.Seed, Until: units.Time(span),
	}.Source()
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
	cl.Drive(traffic, func(f *sim.Transfer) {
		ideal := cl.Ideal(f.Flow)
		for _, c := range classes {
			if f.Bytes < c.below {
				j.Value(c.name+" slowdown", float64(f.Done.Sub(f.At))/float64(ideal))
				break
			}
		}
	})
	net.Every(100*units.Microsecond, func(now units.Time) bool {
		j.Progress(0.9 * float64(now) / float64(span))
		if j.Context().Err() != nil || now.Sub(0) > span && cl.Running() == 0 {
			net.Stop()
		}
		return true
	})
	if err := net.Run(units.Time(100 * span)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return err
	}
	if err := j.Context().Err(); err != nil {
		return err
	}
	if len(cl.Errors) > 0 {
		return fmt.Errorf("%d flows failed, the first: %w", len(cl.Errors), cl.Errors[0])
	}
	j.Value("incomplete", float64(cl.Running()))
	j.Value("missing", math.Abs(float64(net.Ledger().Missing())))
	return nil
}
