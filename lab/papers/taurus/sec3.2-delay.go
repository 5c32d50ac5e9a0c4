package taurus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// separation: the effect of the distance between agent and NIC (section 3.2).
var separation = &experiment.Experiment{
	ID: "taurus/sec3.2-delay",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, a := range shown(s) {
			for _, away := range distances(s) {
				c := cell{a, behind(away)}
				cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
			}
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(cell)
		if err := (mice{c, experiment.At(j.Scale, 2000, 300)}).run(j); err != nil {
			return err
		}
		return c.incast(j)
	},
	Judge: func(r *experiment.Results) {
		tail := experiment.Keyed{}
		var queues []float64
		for _, a := range separated(r.Scale) {
			near, away := of(r, a, behind(0)), of(r, a, behind(units.Microsecond))
			tail = tail.With(string(a),
				away.Values("fct").Percentile(99)/near.Values("fct").Percentile(99))
		}
		for _, away := range distances(r.Scale) {
			sum := 0.0
			for _, a := range separated(r.Scale) {
				sum += of(r, a, behind(away)).Values("queue").Mean()
			}
			queues = append(queues, sum/float64(len(separated(r.Scale))))
		}
		r.Claim("one-us-free", tail)
		r.Claim("monotone", queues)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		fct := figure.Lines("fct", "Flows of a packet beside two large ones",
			"each way between NIC and agent (µs)", "p99 completion time (µs)")
		queue := figure.Lines("queue", "Eight flows share a link",
			"each way between NIC and agent (µs)", "p99 queue (KB)")
		util := figure.Lines("goodput", "Eight flows share a link",
			"each way between NIC and agent (µs)", "goodput, of what the link carries")
		for _, a := range shown(r.Scale) {
			var x, p99, held, carried []float64
			for _, away := range distances(r.Scale) {
				c := of(r, a, behind(away))
				x = append(x, away.Microseconds())
				p99 = append(p99, 1e6*c.Values("fct").Percentile(99))
				held = append(held, c.Values("queue").Mean()/1e3)
				carried = append(carried, c.Values("util").Mean())
			}
			fct.Add(string(a), x, p99)
			queue.Add(string(a), x, held)
			util.Add(string(a), x, carried)
		}
		return []figure.Figure{fct, queue, util}
	},
}

// shown also has our own Bolt at full scale, which is in no claim.
func shown(s experiment.Scale) []algorithm {
	return experiment.At(s, append(algorithms[:4:4], paced), separated(s))
}

func separated(s experiment.Scale) []algorithm {
	return experiment.At(s, algorithms, []algorithm{idctcp, swift})
}

func distances(s experiment.Scale) []units.Duration {
	const us = units.Microsecond
	return experiment.At(s, []units.Duration{0, us / 2, us, 2 * us, 5 * us, 10 * us, 20 * us},
		[]units.Duration{0, us, 5 * us, 20 * us})
}

// incast records the 99th percentile of the queue of eight settled flows.
func (c cell) incast(j *experiment.Job) error {
	until := experiment.At(j.Scale, 5*units.Millisecond, 2*units.Millisecond)
	config, control, err := c.onLink(j, until)
	if err != nil {
		return err
	}
	r, err := config.Run(j.Context(), sim.Many(8, sim.Flow{Control: control}))
	if err != nil {
		return err
	}
	from, to := units.Time(settled), units.Time(until)
	j.Value("queue", r.Queues[0].Length.Percentile(99, from, to))
	j.Value("util", r.Goodput().Mean(from, to)/config.Capacity())
	return nil
}
