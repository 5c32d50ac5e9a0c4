package prioplus

import (
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig10bCell is a channel: how far its target is above the base RTT.
type fig10bCell struct {
	Table    string
	Priority int
	Above    units.Duration
}

const fig10bTable = "n=8,high=0,low=1,direct=0" // W_LS 0.125 BDP, and a probe first

// fig10b: an incast of 300 flows of one priority.
var fig10b = &experiment.Experiment{
	ID: "prioplus/fig10b",
	Cells: func(s experiment.Scale) []experiment.Cell {
		paper := experiment.Cell{Name: "paper",
			Params: fig10bCell{fig10bTable, 5, 20 * units.Microsecond}}
		rules := experiment.Cell{Name: "artifact's rules",
			Params: fig10bCell{fig10bTable + artifactRules, 5, 20 * units.Microsecond}}
		artifact := experiment.Cell{Name: "artifact",
			Params: fig10bCell{fig10bTable + artifactRules + ",filter=1", 4,
				16 * units.Microsecond}}
		return experiment.At(s, []experiment.Cell{paper, rules, artifact},
			[]experiment.Cell{paper})
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(fig10bCell)
		flows := experiment.At(j.Scale, 300, 100)
		size := experiment.At(j.Scale, units.Bytes(500_000), 200_000)
		control, err := virtual(c.Table, c.Priority, wai)
		if err != nil {
			return err
		}
		config := noisyMicro(j.Seed, 50*units.Millisecond)
		r, err := config.Run(j.Context(), sim.Many(flows, sim.Flow{Bytes: size, Control: control}))
		if err != nil {
			return err
		}
		all := binsOf(config.Interval, r.Traces)
		target := float64(rate.Bytes(c.Above))
		to := experiment.At(j.Scale, 12*units.Millisecond, r.End*3/4)
		from := all.refill(0, config.Capacity())
		j.Value("full", from.Seconds())
		j.Value("median", r.Queues[0].Length.Percentile(50, units.Time(from),
			units.Time(to))/target)
		spread := r.Queues[0].Length.Percentile(95, units.Time(from),
			units.Time(to)) - r.Queues[0].Length.Percentile(5, units.Time(from), units.Time(to))
		j.Value("spread", spread*8/float64(rate))
		// bytes on the link
		wls := 0.125 * float64(rate.Bytes(r.Traces[0].BaseRTT)) * packet / payload
		j.Value("burst", r.Queues[0].Length.Max(0, units.Time(from))/(float64(flows)*wls))
		j.Value("util",
			all.mean(1500*units.Microsecond, all.delivered(0.9*float64(flows)*float64(size)))/
				config.Capacity())
		last := units.Duration(0)
		for _, f := range r.Traces {
			last = max(last, f.FCT())
		}
		j.Value("last", last.Seconds())
		keepQueue(j, "queue", r, bin)
		if j.Scale == experiment.Full {
			off := 0.0
			q := j.Series("queue").Y
			for k, there := range fig10bQueue {
				here := 0.0
				if i := int(fig10bQueueFrom/bin) + k; i < len(q) {
					here = q[i]
				}
				off += math.Abs(here - there*1000)
			}
			j.Value("off", off/float64(len(fig10bQueue))/200_000)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		paper := r.Cell("paper")
		r.Claim("near-target", paper.Values("median").Mean())
		r.Claim("one-burst", paper.Values("burst").Mean())
		r.Claim("util", paper.Values("util").Min())
		if r.Scale == experiment.Full {
			r.Claim("spread", 1e6*r.Cell("artifact's rules").Values("spread").Mean())
			paper := 1e6 * paper.Values("spread").Mean()
			r.Note("spread", "with the artifact's rules; with the paper's %.1f µs: flows end, and "+
				"the remaining ones, with W_AI for 300, fill the queue again slowly", paper)
			r.Claim("reference-curve", r.Cell("artifact").Values("off").Mean())
			r.Note("reference-curve", "with the artifact's rules, %.2f to %.2f by seed; "+
				"with the paper's rules 0.11", r.Cell("artifact").Values("off").Min(),
				r.Cell("artifact").Values("off").Max())
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("queue", "Queue under an incast of one priority, mean of 50 µs",
			"time (ms)", "queue (KB)")
		for _, c := range r.Cells() {
			c.Seeds()[0].Series("queue").Scaled(1e3, 1e-3).Draw(p, c.Name+"'s channel")
		}
		if r.Scale == experiment.Full {
			var x []float64
			for k := range fig10bQueue {
				x = append(x, (fig10bQueueFrom+units.Duration(k)*bin).Seconds()*1e3)
			}
			p.Add("published model", x, fig10bQueue)
		}
		p.Y.Max = 600
		return []figure.Figure{p}
	},
}

// fig10bQueue is the queue of the published ns-3 model (github blueroaring/PrioPlus, fig10b.json)
// in the same set-up, with the artifact's channel: means of 50 µs, in KB, from fig10bQueueFrom on.
var fig10bQueue = []float64{
	60, 12, 77, 170, 188, 192, 193, 196, 204, 197, 200, 197, 202, 202, 195, 200, 202, 198, 201, 200,
	201, 199, 200, 200, 201,
	200, 200, 196, 194, 197, 203, 200, 195, 200, 198, 201, 201, 197, 196, 199, 199, 201, 197, 201,
	201, 201, 201, 199, 197, 199,
	203, 199, 196, 191, 183, 183, 180, 183, 184, 189, 189, 193, 196, 199, 200, 199, 199, 198, 196,
	199, 194, 192, 190, 186, 187,
	190, 198, 201, 200, 196, 197, 194, 192, 197, 202, 198, 193, 193, 197, 201, 200, 198, 199, 202,
	199, 196, 194, 194, 199, 202,
	201, 200, 202, 200, 196, 185, 185, 187, 184, 186, 186, 184, 189, 191, 194, 198, 193, 195, 193,
	191, 186, 178, 182, 188, 193,
	188, 180, 157, 152, 144, 134, 132, 142, 153, 162, 167, 169, 169, 175, 188, 189, 193, 194, 200,
	195, 196, 199, 200, 200, 196,
	194, 192, 196, 196, 198, 197, 199, 194, 192, 186, 188, 189, 185, 187, 189, 189, 188, 196, 195,
	187, 186, 183, 181, 177, 163,
	156, 161, 166, 176, 179, 179, 171, 181, 180, 186, 188, 184, 181, 186, 188, 189, 191, 193, 194,
	187, 188, 176, 155, 148, 155,
	163, 162, 156, 118, 100, 126, 149, 129, 136, 151,
}

const fig10bQueueFrom = 1500 * units.Microsecond
