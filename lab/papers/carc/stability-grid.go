package carclab

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// grid is every composition of gates, in line and behind nicoffload's device.
func grid(s experiment.Scale) (all []gates) {
	for _, split := range []bool{false, true} {
		for _, credits := range []bool{false, true} {
			for _, tokens := range []string{"", "tocc"} {
				for _, control := range experiment.At(s,
					[]string{"swift", "prioplus", "dcqcn", "timely", "hpcc", "ledbat"},
					[]string{"swift", "dcqcn"}) {
					all = append(all, gates{CC: control, Credits: credits, Tokens: tokens,
						Split: split})
				}
			}
		}
	}
	return all
}

// stabilityGrid: whether all compositions settle, and complete.
var stabilityGrid = &experiment.Experiment{
	ID:    "beyond/stability-grid",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) []experiment.Cell { return gateCells(grid(s)...)(s) },
	Run: func(j *experiment.Job) error {
		c, err := newCourse(j, j.Params.(gates), experiment.At(j.Scale, 20*ms, 3*ms))
		if err != nil {
			return err
		}
		if err := c.run(j); err != nil {
			return err
		}
		c.record(j)
		return nil
	},
	Judge: func(r *experiment.Results) {
		incomplete := 0
		settling := experiment.Keyed{}
		within, rates, refused, open := 0., 0., 0., 0
		for _, c := range r.Cells() {
			longest := c.Values("settling").Max()
			switch g := c.Params.(gates); {
			case !g.Credits:
				open++
				refused += c.Values("rnr").Sum()
			case g.CC == "dcqcn" || g.CC == "timely":
				rates = max(rates, longest)
			default:
				within = max(within, longest)
			}
			if c.Values("unfinished").Sum() > 0 {
				incomplete++
			}
			settling = settling.With(c.Name, experiment.Seconds(c.Values("settling").Max()))
		}
		r.Claim("complete", incomplete)
		r.Claim("bounded", settling)
		if r.Scale == experiment.Small {
			r.Note("bounded", "phases last 0.3 to 0.75 ms here: nothing longer could be seen")
			return
		}
		r.Note("bounded", "with credits and a window or a delay that bounds it (Swift, PrioPlus, "+
			"HPCC, LEDBAT) goodput settles within %.1f ms, with tokens and without, in line and "+
			"split. DCQCN and TIMELY recover from their start, and from other traffic, at their "+
			"own pace (%.1f ms, a phase, with credits; alone %.1f and %.1f). Without credits, "+
			"only a receive queue that runs out stops senders when the program slows down (%.0f "+
			"RNR NAKs in %d cells): they send, wait for 0.64 ms or more, and never settle in "+
			"that phase", 1e3*within, 1e3*rates,
			1e3*r.Cell("dcqcn").Values("settling").Max(),
			1e3*r.Cell("timely").Values("settling").Max(), refused, open)
	},
	Figures: func(r *experiment.Results) (out []figure.Figure) {
		t := &figure.Table{Name: "settling", Title: "How long after a step goodput is not yet " +
			"within 20 % of its phase's mean (ms), the longest",
			Header: []string{"gates", "settling (ms)", "phase 1", "2", "3", "4", "read misses",
				"RNR NAKs", "unfinished"}}
		for _, c := range r.Cells() {
			v := c.Values("share")
			t.Row(c.Name, 1e3*c.Values("settling").Max(), v[0], v[1], v[2], v[3],
				c.Values("misses").Mean(), c.Values("rnr").Sum(), c.Values("unfinished").Sum())
		}
		return append(out, t, courseFigure(r, "goodput"))
	},
}
