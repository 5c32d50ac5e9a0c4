package bytetuninglab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// begin is a set of flows and the rate at which each begins.
type begin struct {
	n    int
	rate units.BitRate
}

func (b begin) String() string { return fmt.Sprintf("%dx%dG", b.n, b.rate/gbps) }
func (b begin) slow() bool     { return b.rate < 40*gbps }

// begins are the six starts of the figure.
var begins = []begin{{2, 20 * gbps}, {2, 40 * gbps}, {4, 10 * gbps}, {4, 40 * gbps}, {8, 5 * gbps},
	{8, 40 * gbps}}

// fig6Settings are ECN settings, and K_pfc in packets.
var fig6Settings = []struct {
	marking
	kpfc units.Bytes
}{{marking{5, 200, 0.1}, 300}, {marking{5, 200, 0.1}, 800}, {marking{5, 200, 0.5}, 800},
	{marking{200, 400, 0.1}, 800}, {marking{200, 400, 0.5}, 800}}

// fig6Reference is an independent integration, by setting and start: mean rate of the last 10 ms in
// Gb/s, longest queue of S0 and loss in packets, pauses.
var fig6Reference = [5][6][4]float64{
	{{19.826, 14.267, 0, 0}, {19.83, 300, 4489.5, 1}, {9.89, 22.732, 0, 0},
		{9.8849, 304.66, 26178, 3}, {4.9243, 42.075, 0, 0}, {4.9162, 318.36, 90599, 7}},
	{{19.826, 14.267, 0, 0}, {19.82, 594.9, 0, 0}, {9.89, 22.732, 0, 0}, {9.8817, 810, 4817.5, 1},
		{4.9243, 42.075, 0, 0}, {4.9158, 805, 16304, 2}},
	{{19.51, 11.537, 0, 0}, {19.519, 589.57, 0, 0}, {9.6739, 16.072, 0, 0}, {9.697, 810, 4696.1, 1},
		{4.8047, 25.065, 0, 0}, {4.7877, 805, 15729, 2}},
	{{19.372, 248.96, 0, 0}, {19.368, 790.52, 0, 0}, {9.7098, 276.35, 0, 0},
		{9.5488, 810, 8277.3, 1}, {4.8316, 323.91, 0, 0}, {4.7578, 806.26, 25686, 2}},
	{{19.313, 239.54, 0, 0}, {19.302, 785.02, 0, 0}, {9.5962, 258.54, 0, 0}, {9.4594, 810, 8093, 1},
		{4.722, 289.84, 0, 0}, {4.6151, 811.89, 24884, 2}},
}

// fig6: loss and queues of six starts under five watermarks.
var fig6 = &experiment.Experiment{
	ID:    "bytetuning/fig6",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for i, s := range fig6Settings {
			for k, b := range begins {
				c := fluid.Default(b.n, b.rate)
				s.of(&c)
				c.Kpfc, c.Tail, c.Every = s.kpfc*1000, 10*ms, 100*us
				r, err := fluid.Run(c)
				if err != nil {
					return err
				}
				name := fmt.Sprintf("%v/%d %v", s.marking, s.kpfc, b)
				j.Value(name+" lost", r.Lost)
				j.Value(name+" queue", r.Queue)
				rate, lost := j.Series(name+" rate"), j.Series(name+" loss")
				for n, t := range r.Series.Time {
					rate.Add(t, r.Series.Rate[n])
					lost.Add(t, r.Series.Lost[n])
				}
				c.AsPublished, c.Every = true, 0
				if r, err = fluid.Run(c); err != nil {
					return err
				}
				ref := fig6Reference[i][k]
				j.Value("off", math.Abs(float64(r.Rate)/1e9/ref[0]-1))
				switch {
				case float64(r.Pauses) != ref[3]:
					j.Value("off", math.Inf(1))
				case ref[3] == 0:
					j.Value("off", math.Abs(r.QueueMax/ref[1]-1))
				case ref[2] > 0:
					j.Value("lost off", math.Abs(r.Lost/ref[2]-1))
				}
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		lost := func(setting int, b begin) float64 {
			return r.Values(fig6Name(setting, b) + " lost")[0]
		}
		more := experiment.Keyed{}
		for _, b := range []begin{begins[1], begins[3], begins[5]} {
			more = more.With(fmt.Sprintf("n%d", b.n), lost(1, b))
		}
		r.Claim("more-flows", more)
		slow, higher, best := 0., math.Inf(1), 0
		for _, b := range begins {
			least := true
			for i := range fig6Settings {
				if b.slow() {
					slow = max(slow, lost(i, b))
				}
				least = least && lost(1, b) <= lost(i, b)
			}
			if b.slow() {
				higher = min(higher,
					r.Values(fig6Name(3, b) + " queue")[0]/r.Values(fig6Name(1, b) + " queue")[0])
			}
			if least {
				best++
			}
		}
		r.Claim("no-loss-low-rate", slow)
		r.Claim("high-threshold-worse", higher)
		r.Claim("best-set", best)
		r.Claim("low-pfc-worse", lost(0, begins[5])/lost(1, begins[5]))
		off := r.Values("off").Max()
		if lost := r.Values("lost off").Max(); lost > 0.1 {
			r.Note("reference", "loss of a run with PFC is off by %.3g", lost)
			off = max(off, lost)
		}
		r.Claim("reference", off)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var all []figure.Figure
		for i, s := range fig6Settings {
			p := figure.Lines(fmt.Sprintf("loss-%c", 'a'+i),
				fmt.Sprintf("Loss at S1: %v, PFC at %d packets", s.marking, s.kpfc), "time (ms)",
				"lost (packets)")
			q := figure.Lines(fmt.Sprintf("rate-%c", 'a'+i),
				fmt.Sprintf("Rate of a flow: %v, PFC at %d packets", s.marking, s.kpfc),
				"time (ms)", "rate (Gb/s)")
			for _, b := range begins {
				r.Series(fig6Name(i, b)+" loss").Scaled(1e3, 1).Draw(p, b.String())
				r.Series(fig6Name(i, b)+" rate").Scaled(1e3, 1e-9).Draw(q, b.String())
			}
			all = append(all, p, q)
		}
		return all
	},
}

func fig6Name(setting int, b begin) string {
	s := fig6Settings[setting]
	return fmt.Sprintf("%v/%d %v", s.marking, s.kpfc, b)
}
