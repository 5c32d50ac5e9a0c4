package hostlab

import (
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// longCell is an algorithm with flows that never end, in a world.
type longCell struct {
	Algorithm algorithm
	World     world
}

// preemptedWorlds returns the worlds of a scale.
func preemptedWorlds(s experiment.Scale) []world {
	if s == experiment.Small {
		return []world{quiet, central, preemptedWorld(2, receiver)}
	}
	worlds := []world{quiet}
	for i := range preempted {
		for _, which := range []affected{oneOf, half, all} {
			worlds = append(worlds, preemptedWorld(i, which))
		}
	}
	return append(worlds, preemptedWorld(1, receiver), preemptedWorld(2, receiver), stamped)
}

// preemption: long flows between hosts that lose their cores.
var preemption = &experiment.Experiment{
	ID:    "host/preemption",
	Seeds: seeds,
	Cells: func(s experiment.Scale) []experiment.Cell {
		return everyAlgorithm(preemptedWorlds(s))
	},
	Run:     runPreemption,
	Judge:   judgePreemption,
	Figures: drawPreemption,
}

// everyAlgorithm returns a cell for each algorithm in each world.
func everyAlgorithm(worlds []world) (cells []experiment.Cell) {
	for _, w := range worlds {
		for _, a := range algorithms {
			cells = append(cells, experiment.Cell{Name: cellName(a, w), Params: longCell{a, w}})
		}
	}
	return cells
}

// seeds are two at full scale: only the hosts' phases differ.
func seeds(s experiment.Scale) int { return experiment.At(s, 2, 1) }

func judgePreemption(r *experiment.Results) {
	of := func(value string, w world) claims.Value {
		return against(r, value, func(a algorithm) string { return cellName(a, w) })
	}
	r.Claim("quiet", of("goodput", quiet))
	r.Claim("all-10-100", of("goodput", central))
	r.Claim("receiver-3-10", of("goodput", preemptedWorld(2, receiver)))
	least, fair, queue := claims.Value{}, claims.Value{}, claims.Value{}
	for _, a := range algorithms {
		ratio, jain, most := 1.0, 1.0, 0.0
		for _, w := range preemptedWorlds(r.Scale) {
			own, base := r.Cell(cellName(a, w)), r.Cell(cellName(algorithms[0], w))
			ratio = min(ratio, own.Values("goodput").Mean()/base.Values("goodput").Mean())
			if w.Which == all || w.Which == receiver {
				jain = min(jain, own.Values("jain").Mean())
			}
			most = max(most, own.Values("queue").Mean()/base.Values("queue").Mean())
		}
		if a.Name != "fixed" {
			least, queue = least.With(a.Name, claims.Number(ratio)), queue.With(a.Name,
				claims.Number(most))
		}
		fair = fair.With(a.Name, claims.Number(jain))
	}
	r.Claim("fair", fair)
	r.Claim("queue", queue)
	r.Claim("errors", r.Values("failed").Sum())
	if r.Scale == experiment.Full {
		r.Claim("worst", least)
		r.Claim("stamps", of("goodput", stamped))
	}
	notePreemption(r)
}

func drawPreemption(r *experiment.Results) []figure.Figure {
	worlds := preemptedWorlds(r.Scale)
	var names []string
	for _, w := range worlds {
		names = append(names, w.Name)
	}
	draw := func(name, title, unit, value string, k float64) figure.Figure {
		p := figure.Bars(name, title, unit, names...)
		for _, a := range algorithms {
			var heights experiment.Measures
			for _, w := range worlds {
				heights.Add(r.Cell(cellName(a, w)), func(c experiment.Pool) float64 {
					return k * c.Values(value).Mean()
				})
			}
			heights.Bars(p, a.Name)
		}
		return p
	}
	return []figure.Figure{
		draw("goodput", "Goodput of four flows by who is preempted", "Gb/s", "goodput", 1e-9),
		draw("fairness", "Jain's index of the same", "index", "jain", 1),
		draw("queue", "Mean queue of the same", "KB", "queue", 1e-3),
	}
}

// longSenders is the number of flows that share the link.
const longSenders = 4

func runPreemption(j *experiment.Job) error {
	c := j.Params.(longCell)
	return runLong(j, c, longSenders, experiment.At(j.Scale, 220*ms, 120*ms))
}

// runLong records what long flows do after the first 20 ms, or the first quarter.
func runLong(j *experiment.Job, c longCell, senders int, until units.Duration) error {
	config := network(j.Seed, c.World, senders, until)
	flow, err := c.Algorithm.flow(&config)
	if err != nil {
		return err
	}
	r, err := config.Run(j.Context(), sim.Many(senders, flow))
	if r == nil {
		return err
	}
	failed := 0.0
	if err != nil { // a flow that ended: its data counts, and so does its end
		if j.Context().Err() != nil {
			return err
		}
		failed = 1
	}
	from := min(20*ms, until/4)
	j.Value("goodput", r.Goodput().Mean(units.Time(from), units.Time(until)))
	j.Value("jain", r.Jain(from, until))
	j.Value("queue", r.Queues[0].Length.Mean(units.Time(from), units.Time(until)))
	j.Value("queue p99", r.Queues[0].Length.Percentile(99, units.Time(from), units.Time(until)))
	j.Value("failed", failed)
	if j.Seed == 1 {
		total := r.Goodput()
		for k, at := range total.Times {
			j.Series("goodput").Add(units.Duration(at).Seconds(), total.Values[k])
		}
	}
	return nil
}

// notePreemption explains failed claims.
func notePreemption(r *experiment.Results) {
	const late = "a host that was away acknowledges, and sends, everything that waited at once"
	r.Note("all-10-100", late+": TIMELY and DCQCN cut their rates in response, and increase them "+
		"in steps")
	r.Note("stamps", late+": TIMELY and DCQCN cut their rates in response, and increase them in "+
		"steps")
	r.Note("receiver-3-10",
		"fixed windows carry 1.4 ms of the 3 ms for which the receiver is away, the others nothing")
	r.Note("worst",
		"with hosts away for 3 ms of 10, senders and receiver are present together half of the "+
			"time; fixed windows make up for part of it")
	r.Note("fair", "a flow stopped at a bad moment waits for its probe, and 100 ms contain few "+
		"absences")
	r.Note("queue", late)
}
