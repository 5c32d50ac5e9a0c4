package tocc

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig8deRates are the rates of the hosts' links.
var fig8deRates = []units.BitRate{10 * units.Gbps, 100 * units.Gbps}

// inTurn is mixAt with an incast to another host in each third of the time, for three times as
// long.
func inTurn(s experiment.Scale, host units.BitRate) setting {
	m := mixAt(s, host)
	m.Traffic.Rounds, m.Traffic.Flows = 3, experiment.At(s, 3, 1)*m.Traffic.Flows
	return m
}

// fig8de is about incasts to hosts drawn at random, and beside them one to the same host.
var fig8de = &experiment.Experiment{
	ID: "tocc/fig8de",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, rate := range fig8deRates {
			all = append(all, inTurn(s, rate).cells(unscheduled, scheduled)...)
			all = append(all, mixAt(s, rate).cells(compared...)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		gain := func(m setting, of func(row) float64) float64 {
			return of(m.row(r, unscheduled)) / of(m.row(r, scheduled))
		}
		fast, slow := inTurn(r.Scale, 100*units.Gbps), inTurn(r.Scale, 10*units.Gbps)
		r.Claim("more-with-speed", gain(fast, meanFCT())/gain(slow, meanFCT()))
		victims := func(x row) float64 { return mean(x.Values("victims")) }
		tail := p99FCT("tiny", "small")
		one, tenth := mixAt(r.Scale, 100*units.Gbps), mixAt(r.Scale, 10*units.Gbps)
		r.Note("more-with-speed", "ToCC's mean is %.2f of ToCC's w/o unsch at 100 Gb/s and %.2f "+
			"at 10, that of flows to the hosts of incasts %.2f and %.2f, the p99 of flows below "+
			"100 KB %.2f and %.2f. With one incast to one host %.2f and %.2f, of flows to it "+
			"%.2f and %.2f", gain(fast, meanFCT()), gain(slow, meanFCT()), gain(fast, victims),
			gain(slow, victims), gain(fast, tail), gain(slow, tail), gain(one, meanFCT()),
			gain(tenth, meanFCT()), gain(one, victims), gain(tenth, victims))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var figures []figure.Figure
		var drawn, all []setting
		for _, rate := range fig8deRates {
			m := mixAt(r.Scale, rate)
			all, drawn = append(all, m), append(drawn, inTurn(r.Scale, rate))
			figures = append(figures, m.bars(r, fmt.Sprintf("mean-%dg", rate/units.Gbps),
				fmt.Sprintf("Mean completion time by class, hosts of %v", rate), compared, meanFCT))
		}
		return append(figures, table(r, "schemes", "Flows of the web server, and one round of "+
			"incasts of 30-40 MTU a sender", compared, all...), table(r, "rounds", "Three "+
			"rounds of incasts, each to another host", []scheme{unscheduled, scheduled}, drawn...))
	},
}
