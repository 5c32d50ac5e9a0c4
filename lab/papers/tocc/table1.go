package tocc

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// choice is a point of the design space of table I.
type choice struct {
	Unscheduled string // none, passive, active
	Generation  string // rate, data
	Limiter     bool
	Volume      bool
	CC          bool
	NoRTS       bool // senders announce nothing before they may send
}

func (c choice) spec() string {
	on := map[bool]string{false: "off", true: "on"}
	control := "none"
	switch {
	case c.CC && c.Generation == "rate":
		control = "feedback"
	case c.CC:
		control = "dcqcn"
	}
	unscheduled := map[string]string{"none": "unsch=0B", "passive": "unsch=1BDP",
		"active": "unsch=1BDP,drop=on"}[c.Unscheduled]
	return fmt.Sprintf("%s,generation=%s,limiter=%s,volume=%s,rts=%s,k=1pkt,cc=%s", unscheduled,
		c.Generation, on[c.Limiter], on[c.Volume], on[!c.NoRTS], control)
}

func (c choice) forbidden() bool { return c.Generation == "rate" && (c.Volume || !c.Limiter) }

// kick is ToCC without its unscheduled phase, with the RTS that begins it or without.
func kick(rts bool) choice { return choice{"none", "data", true, true, false, !rts} }

const sixteen = 16

// table1: all combinations, and sixteen flows for each that is accepted.
var table1 = &experiment.Experiment{
	ID:    "tocc/table1",
	Seeds: func(experiment.Scale) int { return 1 },
	Cells: func(experiment.Scale) (out []experiment.Cell) {
		either := []bool{false, true}
		var all []choice
		for _, unscheduled := range []string{"none", "passive", "active"} {
			for _, generation := range []string{"rate", "data"} {
				for _, limiter := range either {
					for _, volume := range either {
						for _, control := range either {
							all = append(all, choice{unscheduled, generation, limiter, volume,
								control, false})
						}
					}
				}
			}
		}
		for _, c := range append(all, kick(false)) {
			out = append(out, experiment.Cell{Name: c.spec(), Params: c})
		}
		return out
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(choice)
		spec, err := tocc.Parse(c.spec())
		if err != nil {
			j.Value("accepted", 0)
			return nil
		}
		j.Value("accepted", 1)
		config := eightToOne(j, experiment.At(j.Scale, 50*units.Millisecond, 50*units.Millisecond))
		config.Rate = experiment.At(j.Scale, 100*units.Gbps, 10*units.Gbps)
		config.Tokens = tokens
		if config.Switch, err = c.switches(spec, config); err != nil {
			return err
		}
		flows, _, err := tokenFlows(spec, true)
		if err != nil {
			return err
		}
		config.Place = func(i int) (int, int) { return i % pairs, (i + i/pairs) % pairs }
		for i := range flows {
			flows[i].Back = false
			flows[i].Bytes = experiment.At[units.Bytes](j.Scale, 1_000_000, 100_000)
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		ended := 0.
		for _, f := range r.Traces {
			if f.Ended {
				ended++
				j.Value("fct", f.FCT().Seconds())
			}
		}
		j.Value("ended", ended)
		j.Value("bufmax", float64(r.Totals.Fullest))
		return nil
	},
	Judge: func(r *experiment.Results) {
		refused, accepted, ended := 0., 0., 0.
		for _, c := range r.Cells() {
			choice := c.Params.(choice)
			if c.Values("accepted").Sum() == 0 || choice.NoRTS {
				continue
			}
			if choice.forbidden() {
				refused++
			}
			accepted++
			ended += c.Values("ended").Sum()
		}
		r.Claim("refused", refused)
		r.Claim("completes", ended/accepted/sixteen)
		r.Claim("no-deadlock",
			experiment.With("with_rts", r.Cell(kick(true).spec()).Values("ended").Sum()).
				With("without_rts", r.Cell(kick(false).spec()).Values("ended").Sum()))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{
			Name: "choices", Title: "All combinations of table I, and sixteen flows through one " +
				"link for each that is accepted",
			Header: []string{"point", "accepted", "flows that ended", "mean FCT (µs)",
				"fullest buffer (KB)"},
		}
		for _, c := range r.Cells() {
			if c.Values("accepted").Sum() == 0 {
				t.Row(c.Name, "no", "", "", "")
				continue
			}
			mean := ""
			if n := c.Values("ended").Sum(); n > 0 {
				mean = fmt.Sprintf("%.0f", 1e6*c.Values("fct").Mean())
			}
			t.Row(c.Name, "yes", c.Values("ended").Sum(), mean,
				fmt.Sprintf("%.0f", c.Values("bufmax").Max()/1e3))
		}
		return []figure.Figure{t}
	},
}

// switches drop credits of rate-based generation beyond eight, and unscheduled packets beyond 8 KB
// if the point has that.
func (c choice) switches(spec tocc.Spec, config sim.Bottleneck) (*fabric.SwitchConfig, error) {
	s, err := tokenSwitch(spec, pathOf(config), tokenMarking{}, 0)
	if err != nil {
		return nil, err
	}
	qs := s.Queues(config.Rate)
	if c.Generation == "rate" {
		qs[tokens].Limit, qs[tokens].ECN = 8*84, fabric.ECN{}
	}
	if c.Unscheduled == "active" {
		qs[0].SelectiveDrop = 8000
	}
	s.Queues = qs.At()
	return s, nil
}
