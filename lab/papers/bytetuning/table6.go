package bytetuninglab

import (
	"strings"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// nics are the table's columns. Those with the switch's profile have its thresholds in the NIC.
var nics = []string{"novoq", "voq", "tuned"}

const switchProfile = ", switch's profile"

// table6: one queue pair to C_2 beside many to C_1.
var table6 = &experiment.Experiment{
	ID:    "bytetuning/table6",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%s", append(nics, "novoq"+switchProfile, "voq"+switchProfile)...)
	},
	Run: func(j *experiment.Job) error {
		m := multiHost(j)
		w := m.Default()
		name, profile := strings.CutSuffix(j.Name, switchProfile)
		if profile {
			w = m.SwitchProfile()
		}
		m.OneQueue = name == "novoq"
		if name == "tuned" {
			var err error
			if w, err = tune(j, m, central, w, 0.5, experiment.At(j.Scale, 40, 12)); err != nil {
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
		gbit := func(name, what string) float64 { return r.Cell(name).Values(what).Mean() / 1e9 }
		r.Note("victim-order", "NIC-ECN of the NIC's size, which acts before PFC, protects the "+
			"victim without tuning (pauses: %.0f). With a switch's profile, which PFC precedes, "+
			"the victim has %.3g and %.3g Gb/s",
			r.Cell("voq").Values("pauses").Mean(), gbit("novoq"+switchProfile, "victim"),
			gbit("voq"+switchProfile, "victim"))
		if r.Scale == experiment.Full {
			r.Claim("others-unharmed", others)
			r.Note("others-unharmed", "half of equation 14 is the queue of the receivers' "+
				"switch, in which one cell matters when there are few: tuning ends at a point "+
				"that costs A and B a quarter. Untuned they have %.3g and %.3g Gb/s, with a "+
				"switch's profile %.3g and %.3g", gbit("voq", "A"), gbit("voq", "B"),
				gbit("voq"+switchProfile, "A"), gbit("voq"+switchProfile, "B"))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "victim",
			Title: "A NIC of two hosts: goodput in Gb/s; " + ofHost(r.Scale),
			Header: []string{"", "A to C_1", "B to C_1", "B to C_2, 1 QP", "TX-PFC", "paper: A",
				"B", "1 QP", "watermark, first seed"}}
		paper := map[string][]any{"novoq": {25.1, 24.8, 3.5}, "voq": {25.2, 25., 22.6},
			"tuned": {25.2, 25., 41.}}
		for _, c := range r.Cells() {
			row, printed := []any{c.Name}, paper[c.Name]
			if printed == nil {
				printed = []any{"", "", ""}
			}
			for _, what := range []string{"A", "B", "victim"} {
				row = append(row, c.Values(what).Mean()/1e9)
			}
			row = append(append(row, c.Values("pauses").Mean()), printed...)
			t.Row(append(row, recordedWatermark(c.Seeds()[0]))...)
		}
		return []figure.Figure{t}
	},
}
