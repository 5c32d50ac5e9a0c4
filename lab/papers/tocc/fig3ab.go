package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// joining is eight flows that begin one after the other.
type joining struct {
	Name, Spec string
	Rate       units.BitRate
	Step       units.Duration
	Bytes      units.Bytes
}

func (c joining) name() string { return fmt.Sprintf("%s, %v", c.Name, c.Rate) }

// fig3ab: flows of one size join one by one, and leave. Rate-based tokens are lost and their rates
// oscillate; data-driven ones are released by arriving data. At 100 Gb/s 100 MB take 8 ms alone:
// flows join each millisecond there, or eight would never coincide.
var fig3ab = &experiment.Experiment{
	ID: "tocc/fig3ab",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		slow := joining{Rate: 10 * units.Gbps, Step: experiment.At(s, 10*units.Millisecond,
			2*units.Millisecond), Bytes: experiment.At[units.Bytes](s, 100_000_000, 20_000_000)}
		fast := joining{Rate: 100 * units.Gbps, Step: units.Millisecond, Bytes: slow.Bytes}
		for _, c := range experiment.At(s, []joining{slow, fast}, []joining{slow}) {
			for _, scheme := range []struct{ name, spec string }{
				{"ExpressPass", "expresspass"}, {"Homa", "homa"}, {"ToCC",
					twoPackets + "," + dcqcnSet(1).onTokens()}, {withoutTokenCC,
					twoPackets + ",cc=none"},
			} {
				c.Name, c.Spec = scheme.name, scheme.spec
				out = append(out, experiment.Cell{Name: c.name(), Params: c})
			}
		}
		return out
	},
	Seeds: func(experiment.Scale) int { return 1 },
	Run:   func(j *experiment.Job) error { return j.Params.(joining).simulate(j) },
	Judge: func(r *experiment.Results) {
		at := func(scheme string, rate units.BitRate, what string) float64 {
			return r.Cell(joining{Name: scheme, Rate: rate}.name()).Values(what).Mean()
		}
		slow, fast, jain := 10*units.Gbps, 100*units.Gbps, 1.
		for _, rate := range experiment.At(r.Scale, []units.BitRate{slow, fast},
			[]units.BitRate{slow}) {
			jain = min(jain, at("Homa", rate, "jain"), at("ToCC", rate, "jain"))
		}
		r.Claim("jitter", at("ExpressPass", slow, "jitter")/at("Homa", slow, "jitter"))
		r.Claim("jain", jain)
		if r.Scale == experiment.Small {
			return
		}
		r.Note("jitter", "at 10 Gb/s, %.2f against %.2f. At 100 Gb/s it is %.2f against %.2f: an "+
			"interval of 100 µs has ten times as many credits there",
			at("ExpressPass", slow, "jitter"), at("Homa", slow, "jitter"), at("ExpressPass", fast,
				"jitter"), at("Homa", fast, "jitter"))
		r.Note("jain", "ToCC at 100 Gb/s %.4f, without token CC %.4f, Homa %.4f", at("ToCC", fast,
			"jain"), at(withoutTokenCC, fast, "jain"), at("Homa", fast, "jain"))
	},
	Figures: func(r *experiment.Results) (out []figure.Figure) {
		for i, c := range r.Cells() {
			p := figure.Lines(fmt.Sprintf("goodput-%d", i+1), "Flows that join one by one, "+c.Name,
				"time (ms)", "goodput (Gb/s)")
			for k := range pairs {
				c.Seeds()[0].Series(fmt.Sprintf("flow %d", k+1)).Scaled(1e3, 1e-9).Draw(p,
					fmt.Sprintf("flow %d", k+1))
			}
			out = append(out, p)
		}
		return out
	},
}

const withoutTokenCC = "ToCC w/o token CC"

func (c joining) simulate(j *experiment.Job) error {
	spec, err := tocc.Parse(c.Spec)
	if err != nil {
		return err
	}
	config := eightToOne(j, 2*pairs*c.Rate.Duration(c.Bytes))
	config.Rate, config.Interval, config.Tokens = c.Rate, bin, tokens
	config.Delay = linkDelay(config.Rate, baseRTT)
	if config.Switch, err = schemeSwitch(spec, config); err != nil {
		return err
	}
	flows, place, err := tokenFlows(spec, false)
	if err != nil {
		return err
	}
	config.Place = place
	for i := range flows {
		flows[i].Start, flows[i].Bytes = units.Duration(i)*c.Step, c.Bytes
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	until := units.Duration(0)
	first := units.Forever
	for i, f := range r.Traces {
		if !f.Ended {
			return fmt.Errorf("flow %d has not ended after %v", i, r.End)
		}
		first, until = min(first, f.Finish), max(until, f.Finish)
	}
	// All eight run, and have run together for a step.
	jitter, jain := 0., experiment.Values{}
	for _, f := range r.Traces {
		jitter += variation(binned(f.Goodput, bin, pairs*c.Step, first)) / pairs
	}
	for at := pairs * c.Step; at+units.Millisecond <= first; at += units.Millisecond {
		jain = append(jain, r.Jain(at, at+units.Millisecond))
	}
	j.Value("jitter", jitter)
	j.Value("jain", jain.Mean())
	j.Value("worst", jain.Min())
	j.Value("bufmax", float64(r.Totals.Fullest))
	j.Value("last", until.Seconds())
	takeFlows(j, r.Traces, max(bin, until/400), until)
	return nil
}

// variation returns the coefficient of variation.
func variation(v experiment.Values) float64 {
	mean, squares := v.Mean(), 0.
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares/float64(len(v))) / mean
}

// schemeSwitch returns a switch of tokens that drops them beyond eight if their generation is
// rate-based (ExpressPass).
func schemeSwitch(spec tocc.Spec, config sim.Bottleneck) (*fabric.SwitchConfig, error) {
	s, err := tokenSwitch(spec, pathOf(config), tokenMarking{}, 0)
	if err != nil || spec.Name() != "expresspass" {
		return s, err
	}
	qs := s.Queues(config.Rate)
	qs[tokens].Limit, qs[tokens].ECN = 8*84, fabric.ECN{}
	s.Queues = qs.At()
	return s, nil
}
