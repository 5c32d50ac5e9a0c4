package taurus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig9eh: seven flows of 500 KB join one that has the link.
var fig9eh = &experiment.Experiment{
	ID:    "taurus/fig9eh",
	Cells: func(experiment.Scale) []experiment.Cell { return compared(algorithms...) },
	Run:   join,
	Judge: func(r *experiment.Results) {
		refill, goodput, peak := claims.Value{}, claims.Value{}, claims.Value{}
		others := 0.0
		for _, a := range algorithms {
			refill = refill.With(string(a),
				experiment.Seconds(of(r, a, split).Values("refill").Mean()))
			goodput = goodput.With(string(a), claims.Number(ratio(r, a, "goodput")))
			peak = peak.With(string(a), claims.Number(ratio(r, a, "peak")))
			if a != idctcp {
				others += ratio(r, a, "spread") / float64(len(algorithms)-1)
			}
		}
		r.Claim("full-again", refill)
		r.Claim("throughput-close", goodput)
		r.Claim("same-queue", peak)
		r.Claim("fluctuation",
			experiment.With("dctcp", ratio(r, idctcp, "spread")).With("others", others))
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		for _, a := range algorithms {
			goodput := figure.Lines("goodput-"+string(a), fmt.Sprintf("Seven flows join, %s", a),
				"time (ms)", "goodput (Gb/s)")
			queue := figure.Lines("queue-"+string(a), fmt.Sprintf("Seven flows join, %s", a),
				"time (ms)", "queue (KB)")
			for _, p := range places {
				one := of(r, a, p).Seeds()[0]
				g, q := one.Series("goodput").Scaled(1e3, 1e-9), one.Series("queue").Scaled(1e3,
					1e-3)
				goodput.Add(p.String(), g.X, g.Y)
				queue.Add(p.String(), q.X, q.Y)
			}
			figures = append(figures, goodput, queue)
		}
		return figures
	},
}

// The catalogue's times: when flows join, when all is over, and from when on throughput should be
// steady.
const (
	joinAt   = 2 * units.Millisecond
	steadyAt = 2500 * units.Microsecond
	joinEnd  = 4 * units.Millisecond
)

// onLink is a run of flows that share one narrow link.
func (c cell) onLink(j *experiment.Job, until units.Duration) (sim.Bottleneck, cc.Factory, error) {
	control, err := c.Algorithm.control()
	l := link(j.Scale)
	switches := c.Algorithm.switches(l)
	return sim.Bottleneck{
		Seed: j.Seed, Rate: l.Rate, Delay: l.Delay, PathMTU: payload, Switch: &switches,
		Until: until, Jitter: units.Microsecond,
		Controller: c.Place.controller,
	}, control, err
}

func join(j *experiment.Job) error {
	config, control, err := j.Params.(cell).onLink(j, joinEnd)
	if err != nil {
		return err
	}
	flows := []sim.Flow{{Control: control}}
	for range 7 {
		flows = append(flows, sim.Flow{Control: control, Start: joinAt, Bytes: 500_000})
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	total := r.Goodput()
	from, to := units.Time(joinAt), units.Time(joinEnd)
	j.Value("refill", experiment.Refill(func(from, to units.Duration) float64 {
		return total.Mean(units.Time(from), units.Time(to))
	}, joinAt, joinEnd, config.Capacity()).Seconds())
	j.Value("goodput", total.Mean(from, to)/config.Capacity())
	j.Value("peak", r.Queues[0].Length.Max(from, to))
	j.Value("spread", deviation(total, steadyAt, joinEnd))
	j.Curve("goodput", total, 0)
	j.Means("queue", r.Queues[0].Length, 10*units.Microsecond, joinEnd)
	return nil
}

// deviation returns the standard deviation of the values in a span.
func deviation(s *fabric.Series, from, to units.Duration) float64 {
	n, sum, squares := 0.0, 0.0, 0.0
	for k, at := range s.Times {
		if t := units.Duration(at); t >= from && t < to {
			v := s.Values[k]
			n, sum, squares = n+1, sum+v, squares+v*v
		}
	}
	return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}
