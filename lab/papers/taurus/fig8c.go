package taurus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig8c: how many results of an incast the update filter keeps from the NIC, and whether rates
// differ without them.
var fig8c = &experiment.Experiment{
	ID: "taurus/fig8c",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, a := range filtered {
			cells = append(cells, experiment.Cell{Name: string(a), Params: a})
		}
		return cells
	},
	Run: filter,
	Judge: func(r *experiment.Results) {
		reduction, most := claims.Value{}, 0.0
		for _, a := range filtered {
			reduction = reduction.With(string(a),
				claims.Number(1-r.Cell(string(a)).Values("written").Sum()/
					r.Cell(string(a)).Values("offered").Sum()))
			most = max(most, r.Cell(string(a)).Values("difference").Max())
		}
		r.Claim("reduction", reduction)
		r.Claim("harmless", most)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var groups []string
		var offered, written []float64
		for _, a := range filtered {
			groups = append(groups, string(a))
			offered = append(offered,
				r.Cell(string(a)).Values("offered").Mean()/r.Cell(string(a)).Values("span").Mean()/
					1e6)
			written = append(written,
				r.Cell(string(a)).Values("written").Mean()/r.Cell(string(a)).Values("span").Mean()/
					1e6)
		}
		return []figure.Figure{
			figure.Bars("updates", "Results of eight senders that share a link", "results (M/s)",
				groups...).Heights("decided", offered...).Heights("written", written...),
		}
	},
}

// filtered are the algorithms of the figure.
var filtered = []algorithm{idctcp, swift, hpcc}

func filter(j *experiment.Job) error {
	c := cell{j.Params.(algorithm), split}
	until := experiment.At(j.Scale, 5*units.Millisecond, 2*units.Millisecond)
	run := func(unfiltered bool, pcie nicoffload.PCIe) (*appliedRates, error) {
		config, control, err := c.onLink(j, until)
		if err != nil {
			return nil, err
		}
		rates := &appliedRates{line: config.Rate, rtt: config.BaseRTT()}
		config.Controller = func(host int, now units.Time) (cc.Controller, error) {
			controller, err := nicoffload.NewShared(
				nicoffload.Config{Aggregation: nicoffload.DefaultAggregation},
				nicoffload.AgentConfig{Unfiltered: unfiltered}, &pcie, now)
			return rates.of(controller), err
		}
		_, err = config.Run(j.Context(), sim.Many(8, sim.Flow{Control: control}))
		return rates, err
	}
	with, err := run(false, nicoffload.TypicalPCIe)
	if err != nil {
		return err
	}
	results, duplicates := 0.0, 0.0
	for _, host := range with.hosts {
		n := host.Controller.(*nicoffload.Controller).Agent().Counters()
		results, duplicates = results+float64(n.Results), duplicates+float64(n.Duplicates)
	}
	j.Value("written", results)
	j.Value("offered", results+duplicates)
	j.Value("span", until.Seconds())
	// On a link that takes time for each result, redundant ones delay others.
	free := nicoffload.TypicalPCIe
	free.Rate = 0
	if with, err = run(false, free); err != nil {
		return err
	}
	without, err := run(true, free)
	if err != nil {
		return err
	}
	j.Value("difference", with.difference(without))
	return nil
}

// appliedRates are the rates of the flows of a run, over time.
type appliedRates struct {
	line  units.BitRate
	rtt   units.Duration
	hosts []*applied
}

// of records the decisions of a host's controller.
func (r *appliedRates) of(c cc.Controller) cc.Controller {
	a := &applied{Controller: c, rates: r, flows: map[cc.Flow][]rateAt{}}
	r.hosts = append(r.hosts, a)
	return a
}

type applied struct {
	cc.Controller
	rates *appliedRates
	now   units.Time
	flows map[cc.Flow][]rateAt
}

type rateAt struct {
	at   units.Time
	rate float64 // bit/s
}

// Report implements cc.Controller.
func (a *applied) Report(ev *cc.Event, now units.Time) {
	a.now = now
	a.Controller.Report(ev, now)
}

// Poll implements cc.Controller.
func (a *applied) Poll(now units.Time) units.Time {
	a.now = now
	return a.Controller.Poll(now)
}

// Decision implements cc.Controller.
func (a *applied) Decision(f cc.Flow) (cc.Decision, bool) {
	d, changed := a.Controller.Decision(f)
	if changed {
		a.flows[f] = append(a.flows[f], rateAt{a.now, a.rates.rate(&d)})
	}
	return d, changed
}

// rate returns the rate that a flow may send at: its pace, or its window in each round trip, at
// most line rate.
func (r *appliedRates) rate(d *cc.Decision) float64 {
	rate := float64(units.RateOf(d.Window, r.rtt))
	if d.Rate > 0 {
		rate = min(rate, float64(d.Rate))
	}
	return min(rate, float64(r.line))
}

// difference returns the largest difference of any flow's rate at any time, in bit/s.
func (r *appliedRates) difference(other *appliedRates) (most float64) {
	for i, host := range r.hosts {
		for f, x := range host.flows {
			most = max(most, differ(x, other.hosts[i].flows[f]))
		}
	}
	return most
}

// differ returns the largest difference of two rates over time. It is infinite if there is nothing
// to compare.
func differ(x, y []rateAt) (most float64) {
	if len(x) == 0 || len(y) == 0 {
		return math.Inf(1)
	}
	for len(x) > 0 && len(y) > 0 {
		most = max(most, math.Abs(x[0].rate-y[0].rate))
		switch {
		case len(x) > 1 && (len(y) == 1 || x[1].at.Before(y[1].at)):
			x = x[1:]
		case len(y) > 1 && (len(x) == 1 || y[1].at.Before(x[1].at)):
			y = y[1:]
		default: // both at once, or neither any more
			x, y = x[1:], y[1:]
		}
	}
	return most
}
