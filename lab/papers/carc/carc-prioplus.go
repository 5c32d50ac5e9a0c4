package carclab

import (
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// pooled is how two classes of virtual priorities share the cache.
type pooled struct{ Share string }

func (p pooled) name() string { return "share=" + p.Share }

var (
	equalPools = pooled{"all"}
	highFirst  = pooled{"active"}
)

// Virtual priorities of the two classes, of eight. Credits of the pool that is granted high first
// use them, too.
const lowClass, highClass = 2, 6

// carcPrioPlus: a low class, and a high one that starts when the program slows down: the network is
// empty then.
var carcPrioPlus = &experiment.Experiment{
	ID: "beyond/carc-prioplus",
	Cells: func(experiment.Scale) (out []experiment.Cell) {
		for _, p := range []pooled{equalPools, highFirst} {
			out = append(out, experiment.Cell{Name: p.name(), Params: p})
		}
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(pooled).run(j) },
	Judge: func(r *experiment.Results) {
		first, equal := r.Cell(highFirst.name()), r.Cell(equalPools.name())
		r.Claim("strict", first.Values("share").Mean())
		r.Claim("idle-used", first.Values("util").Min())
		if r.Scale == experiment.Small {
			r.Note("idle-used", "with equal pools it is %.2f: not because of credits, but "+
				"because PrioPlus has two flows whose BDP is four "+
				"packets", equal.Values("util").Min())
		}
		if r.Scale == experiment.Full {
			r.Claim("blind-without", equal.Values("share").Mean())
		}
	},
	Figures: func(r *experiment.Results) (out []figure.Figure) {
		for _, c := range r.Cells() {
			p := c.Params.(pooled)
			f := figure.Lines("goodput-"+p.Share, "What is delivered of two classes, the high "+
				"one from 5 ms on, when the program slows down: "+c.Name, "time (ms)",
				"goodput (Gb/s)")
			for _, class := range []string{"low", "high"} {
				c.Seeds()[0].Series(class).Scaled(1e3, 1e-9).Draw(f, class)
			}
			out = append(out, f)
		}
		return out
	},
}

func (p pooled) run(j *experiment.Job) error {
	whole := experiment.At(j.Scale, 20*ms, 10*ms)
	c, err := newCourse(j, gates{Credits: true}, whole)
	if err != nil {
		return err
	}
	b := c.bed
	spec, err := carc.Parse(b.credits.String() + ",share=" + p.Share)
	if err != nil {
		return err
	}
	b.credits = &spec
	low, err := virtual(lowClass)
	if err != nil {
		return err
	}
	high, err := virtual(highClass)
	if err != nil {
		return err
	}
	isHigh := func(sender int) bool { return sender >= b.senders/2 }
	b.control = func(sender int) cc.Factory {
		if isHigh(sender) {
			return high
		}
		return low
	}
	b.share = func(sender int) carc.Share {
		if isHigh(sender) {
			return carc.Share{Priority: highClass - 1}
		}
		return carc.Share{Priority: lowClass - 1}
	}
	b.start = func(sender int) units.Duration {
		if isHigh(sender) {
			return c.moment(phases[1].from)
		}
		return 0
	}
	b.watch = append(b.watch, func() {
		isLow := func(sender int) bool { return !isHigh(sender) }
		c.classes = [2]*fabric.Series{b.sample(c.bin(), delivered, isLow),
			b.sample(c.bin(), delivered, isHigh)}
	})
	if err := c.run(j); err != nil {
		return err
	}
	at := func(d units.Duration) units.Time { return b.Zero().Add(c.moment(d)) }
	from, until := at(phases[1].from+2), at(phases[1].until)
	above, below := c.classes[1].Mean(from, until), c.classes[0].Mean(from, until)
	j.Value("share", above/(above+below))
	j.Value("util", c.classes[0].Mean(at(1), at(phases[0].until))/c.limit(0))
	for i, name := range []string{"low", "high"} {
		s := j.Series(name)
		for k, t := range c.classes[i].Times {
			if t.After(b.Zero()) && !t.After(b.Zero().Add(whole)) {
				s.Add(t.Sub(b.Zero()).Seconds(), c.classes[i].Values[k])
			}
		}
	}
	return nil
}
