package carclab

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

var (
	swiftAlone = gates{CC: "swift"}
	carcAlone  = gates{Credits: true}
	carcAndCC  = gates{CC: "swift", Credits: true}
)

// carcSwift: credits beside Swift, with a program that slows down and a link that is shared for a
// while.
var carcSwift = &experiment.Experiment{
	ID:    "beyond/carc-swift",
	Cells: gateCells(swiftAlone, carcAlone, carcAndCC),
	Run: func(j *experiment.Job) error {
		c, err := newCourse(j, j.Params.(gates), experiment.At(j.Scale, 20*ms, 10*ms))
		if err != nil {
			return err
		}
		c.bed.watch = append(c.bed.watch, func() {
			c.bed.between(span{c.moment(6), c.moment(10)}, c.bin(), func() {
				for _, a := range c.algs {
					if o, ok := a.(cc.Observable); ok && c.CC != "" {
						j.Value("window", float64(o.Snapshot().Window))
					}
				}
			})
		})
		if err := c.run(j); err != nil {
			return err
		}
		c.record(j)
		return nil
	},
	Judge: func(r *experiment.Results) {
		both, alone, swift := r.Cell(carcAndCC.String()), r.Cell(carcAlone.String()),
			r.Cell(swiftAlone.String())
		r.Claim("min-of-two", phaseShares(both))
		r.Claim("no-oscillation",
			both.Values("variation").Mean()/max(alone.Values("variation").Mean(),
				swift.Values("variation").Mean()))
		r.Note("no-oscillation", "with both, the coefficient is %.2f of what is delivered, "+
			"because lines are returned in quarters of a connection's credits while the program "+
			"has work, and %.2f of what the program consumes; Swift alone has %.2f and %.2f, "+
			"because receivers run out of receives",
			both.Values("variation").Mean(), both.Values("consumption").Mean(),
			swift.Values("variation").Mean(), swift.Values("consumption").Mean())
		r.Claim("misses", both.Values("misses").Mean()-alone.Values("misses").Mean())
		if r.Scale == experiment.Full {
			r.Claim("no-double-penalty", both.Values("window").Mean()/swift.Values("window").Mean())
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{courseFigure(r, "goodput"), courseTable(r)}
	},
}

func gateCells(all ...gates) func(experiment.Scale) []experiment.Cell {
	return func(experiment.Scale) (out []experiment.Cell) {
		for _, g := range all {
			out = append(out, experiment.Cell{Name: g.String(), Params: g})
		}
		return out
	}
}

// phaseShares returns goodput over the tighter limit, of each phase, the mean of seeds.
func phaseShares(p experiment.Pool) claims.Value {
	v := claims.Value{}
	for i := range phases {
		sum, n := 0., 0
		for _, s := range p.Seeds() {
			sum += s.Values("share")[i]
			n++
		}
		v = v.With(fmt.Sprintf("phase %d", i+1), claims.Number(sum/float64(n)))
	}
	return v
}

func courseFigure(r *experiment.Results, name string) figure.Figure {
	f := figure.Lines(name, "What is delivered to the program: v2 falls to 0.4 and rises again, "+
		"then other traffic takes half of the link", "time (ms)", "goodput (Gb/s)")
	r.Curves(f, "goodput", 1e3, 1e-9)
	return f
}

func courseTable(r *experiment.Results) *figure.Table {
	t := &figure.Table{Name: "gates",
		Title: "Goodput over the tighter limit in each phase, and what it costs",
		Header: []string{"gates", "phase 1", "2", "3", "4", "coefficient of variation",
			"of what is consumed", "read misses", "RNR NAKs", "explicit CREDITs of messages"}}
	for _, c := range r.Cells() {
		s := c.Seeds()[0]
		v := s.Values("share")
		t.Row(c.Name, v[0], v[1], v[2], v[3], c.Values("variation").Mean(),
			c.Values("consumption").Mean(), c.Values("misses").Mean(), c.Values("rnr").Mean(),
			c.Values("explicit").Sum()/max(1, c.Values("messages").Sum()))
	}
	return t
}
