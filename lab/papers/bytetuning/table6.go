package bytetuninglab

import (
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// nics are the table's columns; busy is tuned with more weight on throughput.
var nics = []string{"novoq", "voq", "tuned"}

const busy = "beta 0.9"

// table6: one queue pair to C_2 beside many to C_1.
var table6 = &experiment.Experiment{
	ID:    "bytetuning/table6",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%s", append(nics, busy)...)
	},
	Run: func(j *experiment.Job) error {
		m := multiHost(j)
		w := m.Default()
		m.OneQueue = j.Name == "novoq"
		if beta, ok := map[string]float64{"tuned": 0.5, busy: 0.9}[j.Name]; ok {
			var err error
			if w, err = tune(j, m, central, m.Default(), beta,
				experiment.At(j.Scale, 40, 12)); err != nil {
				return err
			}
		}
		r, err := measureNIC(j, m, w)
		if err != nil {
			return err
		}
		j.Value("A", float64(r.A))
		j.Value("B", float64(r.B))
		j.Value("victim", float64(r.Victim))
		j.Value("pauses", float64(r.Pauses))
		recordWatermark(j, w)
		return nil
	},
	Judge: func(r *experiment.Results) {
		victim, others := claims.Value{}, claims.Value{}
		for _, name := range nics {
			c := r.Cell(name)
			victim = victim.With(name, claims.Number(c.Values("victim").Mean()/1e9))
			for _, host := range []string{"A", "B"} {
				others = others.With(name+" "+host, claims.Number(c.Values(host).Mean()/25e9))
			}
		}
		r.Claim("victim-order", victim)
		if r.Scale == experiment.Full {
			r.Claim("others-unharmed", others)
			r.Note("others-unharmed", "half of equation 14 is the queue of the receivers' "+
				"switch, in which one cell matters when there are few: tuning may end at a Kmin "+
				"that costs A and B a quarter. With beta 0.9 A and B have %.1f and %.1f Gb/s, "+
				"and the victim %.1f",
				r.Cell(busy).Values("A").Mean()/1e9, r.Cell(busy).Values("B").Mean()/1e9,
				r.Cell(busy).Values("victim").Mean()/1e9)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "victim",
			Title: "A NIC of two hosts: goodput in Gb/s; " + ofHost(r.Scale),
			Header: []string{"", "A to C_1", "B to C_1", "B to C_2, 1 QP", "TX-PFC", "paper: A",
				"B", "1 QP", "watermark, first seed"}}
		paper := map[string][]any{"novoq": {25.1, 24.8, 3.5}, "voq": {25.2, 25., 22.6},
			"tuned": {25.2, 25., 41.}, busy: {"", "", ""}}
		for _, c := range r.Cells() {
			row := []any{c.Name}
			for _, what := range []string{"A", "B", "victim"} {
				row = append(row, c.Values(what).Mean()/1e9)
			}
			row = append(append(row, c.Values("pauses").Mean()), paper[c.Name]...)
			t.Row(append(row, recordedWatermark(c.Seeds()[0]))...)
		}
		return []figure.Figure{t}
	},
}
