package tocc

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
)

// tokenPriority has two classes of flows, in which data has the priority, in two queues, or tokens
// have it.
var tokenPriority = &experiment.Experiment{
	ID: "beyond/tocc-token-priority",
	Cells: func(experiment.Scale) (out []experiment.Cell) {
		for _, of := range []string{"data", "tokens", "nothing"} {
			for _, unsch := range []string{"0B", "1BDP"} {
				c := classes{of, unsch}
				out = append(out, experiment.Cell{Name: c.name(), Params: c})
			}
		}
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(classes).simulate(j) },
	Judge: func(r *experiment.Results) {
		data, tokens := r.Cell(classes{"data", "0B"}.name()), r.Cell(classes{"tokens", "0B"}.name())
		r.Claim("as-good", p99(tokens.Values("high"))/p99(data.Values("high")))
		blocked := func(unsch string) float64 {
			of := func(what string) float64 {
				return r.Cell(classes{what, unsch}.name()).Values("low buffer").Max()
			}
			return of("tokens") / of("data")
		}
		r.Claim("low-not-blocked", blocked("0B"))
		tokenTop, tokenRest := top(tokens.Values("low buffer"))
		dataTop, dataRest := top(data.Values("low buffer"))
		r.Note("low-not-blocked", "the maximum is in one switch, where incasts end at full "+
			"scale: %.0f KB against %.0f KB; in all others at most %.0f against %.0f. There low "+
			"tokens, which waited longer in more places, let more data collide (a guess). With a "+
			"BDP unscheduled, which no token controls, %.2f",
			tokenTop/1e3, dataTop/1e3, tokenRest/1e3, dataRest/1e3,
			blocked("1BDP"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{
			Name: "classes", Title: "Two classes of Web Server, and incasts in the lower: where " +
				"their priority is",
			Header: []string{"priority of", "high, mean FCT (µs)", "high, p99", "low, mean",
				"low, p99", "most data of low flows in a switch (KB)"},
		}
		for _, c := range r.Cells() {
			high, low := c.Values("high").Scaled(1e6), c.Values("low").Scaled(1e6)
			t.Row(c.Name, fmt.Sprintf("%.0f", high.Mean()), fmt.Sprintf("%.0f", p99(high)),
				fmt.Sprintf("%.0f", low.Mean()), fmt.Sprintf("%.0f", p99(low)),
				fmt.Sprintf("%.0f", c.Values("low buffer").Max()/1e3))
		}
		return []figure.Figure{t}
	},
}

// top returns the largest value, and the second largest.
func top(v experiment.Values) (first, second float64) {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[len(sorted)-1], sorted[len(sorted)-2]
}

// classes is where the priority of two classes is: every other flow is of the higher class; those
// of incasts are not.
type classes struct {
	Of          string // data, tokens, nothing
	Unscheduled string
}

func (c classes) name() string { return fmt.Sprintf("%s, %s unscheduled", c.Of, c.Unscheduled) }

// lowTokens is the queue of the lower class's.
const lowTokens = tokens - 1

func high(f workload.Flow) bool { return f.Class != incastClass && f.ID%2 == 0 }

func (c classes) simulate(j *experiment.Job) error {
	m := ccMix(j.Scale)
	source, span, err := m.Traffic.source(m.Network, j.Seed)
	if err != nil {
		return err
	}
	open, err := cc.Parse(uncontrolled)
	if err != nil {
		return err
	}
	var services [2]sim.Service
	for i, text := range []string{"priority=0,token_dscp=36", "priority=7,token_dscp=44"} {
		if c.Of != "tokens" {
			text = "token_dscp=44"
		}
		spec, err := tocc.Parse(fmt.Sprintf("%s,unsch=%s,%s,cc=%s", tokenSet, c.Unscheduled, text,
			dcqcnSet1))
		if err != nil {
			return err
		}
		services[i] = sim.Service{Control: open, Admit: admit(spec), AnswerClass: answerClass}
		services[i].TrafficClass = uint8(i) << 2 // in the same queue
		if c.Of == "data" {
			services[i].TrafficClass = uint8(i) << 5
		}
	}
	of := fabric.ToCCSwitch(tocc.TokenWire, tocc.Wire(2048, payload))
	of.Tokens, of.Buffer = []int{tokens, lowTokens}, buffer
	s := tokenScenario(j, span, source)
	s.Topology, s.Scheme.Switch = m.Network, tokenMarking{}.mark(of)
	s.Scheme.PerFlow = func(_ *sim.Simulation, f workload.Flow) (sim.Service, error) {
		if high(f) {
			return services[1], nil
		}
		return services[0], nil
	}
	var low []*fabric.Held // data of the lower class
	s.Probes.Attach = func(s *sim.Simulation) {
		for _, sw := range s.Net.Switches() {
			low = append(low, sw.Follow(0))
		}
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value("high")
	j.Value("low")
	for _, f := range r.Flows {
		class := "low"
		if high(f.Flow) {
			class = "high"
		}
		j.Value(class, f.FCT().Seconds())
	}
	for _, h := range low {
		j.Value("low buffer", float64(h.Most))
	}
	return r.Complete()
}
