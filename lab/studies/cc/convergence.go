package cclab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// manyCell is an algorithm and a number of flows.
type manyCell struct {
	Algorithm string
	Flows     int
}

func (c manyCell) name() string { return fmt.Sprintf("%s n=%d", c.Algorithm, c.Flows) }

func manyCells(flows ...int) (cells []experiment.Cell) {
	for _, a := range algorithms {
		for _, n := range flows {
			c := manyCell{a.name, n}
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
	}
	return cells
}

var joining = []int{2, 4, 8}

// convergence: flows join one after the other and leave in the same order.
var convergence = &experiment.Experiment{
	ID:    "cc/convergence",
	Cells: func(experiment.Scale) []experiment.Cell { return manyCells(joining...) },
	Run:   runConvergence,
	Judge: func(r *experiment.Results) {
		over := func(value string, worst func(experiment.Values) float64,
			of func(float64) claims.Value, names ...string) claims.Value {
			v := claims.Value{}
			for _, a := range names {
				var all experiment.Values
				for _, n := range joining {
					all = append(all, r.Cell(manyCell{a, n}.name()).Values(value)...)
				}
				v = v.With(a, of(worst(all)))
			}
			return v
		}
		r.Claim("fair", over("jain", experiment.Values.Min, claims.Number, windowed...))
		r.Claim("fair-rates", over("jain", experiment.Values.Min, claims.Number, "dcqcn",
			"dcqcn-nic"))
		r.Claim("join", over("join", experiment.Values.Max, experiment.Seconds, "swift", "dctcp",
			"idctcp"))
		r.Claim("utilisation", over("utilisation", experiment.Values.Min, claims.Number,
			windowed...))
		r.Claim("utilisation-rates", over("utilisation", experiment.Values.Min, claims.Number,
			"dcqcn", "dcqcn-nic"))
		swift, led := claims.Value{}, claims.Value{}
		for _, n := range joining {
			name := fmt.Sprintf("n=%d", n)
			c := r.Cell(manyCell{"swift", n}.name())
			swift = swift.With(name,
				claims.Number(c.Values("queue").Mean()/c.Values("swift queue").Mean()))
			c = r.Cell(manyCell{"ledbat-dc", n}.name())
			led = led.With(name, claims.Number(c.Values("queue").Mean()/(ledbat*float64(rate)/8)))
		}
		r.Claim("swift-queue", swift)
		r.Claim("ledbat-queue", led)
		r.Note("fair", "ledbat-dc adds and subtracts the same amount whatever the window: with 4 "+
			"flows the newest window is 52 packets larger than the oldest when it joins (100 and "+
			"48, seed 1) and 52 larger 10 ms later (75 and 23); equal windows stay equal")
		r.Note("join", "dctcp, idctcp: the newest flow begins with alpha 1 and halves its window "+
			"at once; the others have an alpha of some hundredths and hardly cut: two flows have "+
			"101 and 51 packets 20 µs after the join, 115 and 63 after 1 ms, 98 and 81 after 3 "+
			"ms (dctcp, seed 1). swift takes no time")
		r.Note("fair-rates", "dcqcn-nic yields within a millisecond but increases by only 50 "+
			"Mb/s each 300 µs, which is 1.7 Gb/s in 10 ms: of 8 flows the newest still has 32 "+
			"Gb/s and the first 5 Gb/s at the end (seed 1)")
		r.Note("utilisation-rates",
			"dcqcn-nic takes the bandwidth of a flow that leaves at 50 Mb/s each 300 µs, too")
		r.Claim("dctcp-queue", over("queue p99", experiment.Values.Max, amount, "dctcp", "idctcp"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var figures []figure.Figure
		queue := figure.Steps("queue", "Queue, 4 flows join and leave", "time (ms)", "queue (KB)")
		var names []string
		for _, n := range joining {
			names = append(names, fmt.Sprintf("n=%d", n))
		}
		fair := figure.Bars("fairness", "Jain's index while all run", "index", names...)
		join := figure.Bars("join", "Time to a fair share after the last joined", "time (ms)",
			names...)
		for _, a := range algorithms {
			c := r.Cell(manyCell{a.name, 4}.name()).Seeds()[0]
			q := c.Series("queue").Scaled(1e3, 1e-3)
			if a.name != "fixed" {
				queue.Add(a.name, q.X, q.Y)
			}
			p := figure.Lines("goodput-"+a.name, "Goodput of 4 flows: "+a.name, "time (ms)",
				"goodput (Gb/s)")
			for i := range 4 {
				c.Series(fmt.Sprintf("goodput %d", i)).Scaled(1e3, 1e-9).Draw(p,
					fmt.Sprintf("flow %d", i))
			}
			figures = append(figures, p)
			var jain, times experiment.Measures
			for _, n := range joining {
				v := r.Cell(manyCell{a.name, n}.name())
				jain.Add(v, func(p experiment.Pool) float64 { return p.Values("jain").Mean() })
				times.Add(v, func(p experiment.Pool) float64 {
					return p.Values("join").Scaled(1e3).Mean()
				})
			}
			jain.Bars(fair, a.name)
			times.Bars(join, a.name)
		}
		return append([]figure.Figure{fair, join, queue}, figures...)
	},
}

// amount returns a number of bytes as the value of a claim.
func amount(b float64) claims.Value { return claims.Size(units.Bytes(b)) }

func runConvergence(j *experiment.Job) error {
	c := j.Params.(manyCell)
	spec, a, err := algorithmOf(c.Algorithm)
	if err != nil {
		return err
	}
	apart := experiment.At(j.Scale, 10*units.Millisecond, 3*units.Millisecond)
	n := units.Duration(c.Flows)
	flows := make([]sim.Flow, c.Flows)
	for i := range flows {
		at := units.Duration(i) * apart
		flows[i] = sim.Flow{Start: at, Stop: at + n*apart, Control: spec}
	}
	config := sim.Bottleneck{
		Seed: j.Seed, Jitter: jitter, Rate: rate, Delay: 2 * units.Microsecond, PathMTU: 1024,
		ECN: a.ecn, CNPs: a.cnps, Chunk: 4 * units.MiB,
		Until: (2*n - 1) * apart, Interval: 100 * units.Microsecond,
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	joined := (n - 1) * apart
	from, to := units.Time(joined+apart/2), units.Time(joined+apart)
	j.Value("jain", r.Jain(joined+apart/2, joined+apart))
	j.Value("utilisation",
		r.Goodput().Mean(units.Time(apart/2), units.Time(config.Until))/config.Capacity())
	j.Value("join", joinTime(r, joined, joined+apart).Seconds())
	j.Value("queue", r.Queues[0].Length.Mean(from, to))
	j.Value("queue p99", r.Queues[0].Length.Percentile(99, from, to))
	j.Value("swift queue", swiftQueue(c.Flows, r.Traces[0].BaseRTT, 1024+sim.Overhead))
	if c.Flows == 4 {
		keep(j, r, 50*units.Microsecond)
	}
	return nil
}

// keep records the goodput of each flow and the queue, as means over intervals.
func keep(j *experiment.Job, r *sim.Result, interval units.Duration) {
	for i, f := range r.Traces {
		j.Curve(fmt.Sprintf("goodput %d", i), f.Goodput, 0)
	}
	j.Means("queue", r.Queues[0].Length, interval, r.End+interval-1)
}

// joinTime returns how long after the last flow joined the shares are fair: Jain's index is at
// least 0.95 over the next 500 µs, and over all the time from then to the end of the span. It is
// infinite if they never are.
func joinTime(r *sim.Result, joined, end units.Duration) units.Duration {
	const over, edge = 500 * units.Microsecond, 100 * units.Microsecond
	for at := joined; at+over <= end; at += edge {
		if r.Jain(at, at+over) >= 0.95 && r.Jain(at, end) >= 0.95 {
			return at - joined
		}
	}
	return units.Forever
}

// swiftQueue returns the queue (bytes) at which n Swift flows are at their fixed point: the delay
// beyond the base is the target's. The target's scaling depends on the window, which is a share of
// what the path and the queue hold. Defaults: fs_range 100 µs between 0.1 and 100 packets.
func swiftQueue(n int, base units.Duration, packet float64) float64 {
	alpha := 100e-6 / (1/math.Sqrt(0.1) - 1/math.Sqrt(100))
	delay := swiftBase
	for range 100 {
		window := (base.Seconds() + delay) * float64(rate) / 8 / packet / float64(n)
		delay = swiftBase + min(max(alpha/math.Sqrt(window)-alpha/10, 0), 100e-6)
	}
	return delay * float64(rate) / 8
}
