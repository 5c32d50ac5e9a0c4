package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// nicKmins are the figure's, which we take for cells.
var nicKmins = []units.Bytes{64, 128, 256, 512, 1024}

// nicOthers are the other parameters traversed at each Kmin.
func nicOthers(s experiment.Scale) (gaps []units.Bytes, pmax []bytetuning.Percent) {
	if s == experiment.Small {
		return []units.Bytes{256}, []bytetuning.Percent{10}
	}
	return []units.Bytes{64, 256, 1024}, []bytetuning.Percent{1, 10, 100}
}

// alone is the cell without traffic to C_1.
const alone = "alone"

// fig5: NIC-ECN of a NIC that two hosts share.
var fig5 = &experiment.Experiment{
	ID:    "bytetuning/fig5",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) []experiment.Cell {
		return append(experiment.Sweep("Kmin=%d", nicKmins...),
			experiment.Cell{Name: alone, Params: units.Bytes(0)})
	},
	Run: func(j *experiment.Job) error {
		m := multiHost(j)
		w := m.SwitchProfile()
		if j.Name == alone {
			m.QPs = 0
			r, err := measureNIC(j, m, w)
			if err != nil {
				return err
			}
			j.Value("victim", float64(r.Victim))
			return nil
		}
		gaps, pmax := nicOthers(j.Scale)
		for _, gap := range gaps {
			for _, p := range pmax {
				w.Kmin = j.Params.(units.Bytes) * bytetuning.Cell
				w.Kmax, w.Pmax = w.Kmin+gap*bytetuning.Cell, p
				r, err := measureNIC(j, m, w)
				if err != nil {
					return err
				}
				j.Value("many", float64(r.A+r.B))
				j.Value("victim", float64(r.Victim))
				j.Value("total", float64(r.Total()))
				j.Value("pauses", float64(r.Pauses))
				j.Value("paused", r.Paused.Seconds()/m.Period.Seconds())
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		total := experiment.Keyed{}
		var victims, highest experiment.Values
		for _, c := range r.Cells() {
			if c.Name == alone {
				continue
			}
			var best experiment.Values
			for _, seed := range c.Seeds() {
				best = append(best, seed.Values("total").Max())
			}
			total = total.With(c.Name, best.Mean()/100e9)
			highest = append(highest, best.Mean())
			victims = append(victims, c.Values("victim")...)
		}
		r.Claim("below-line", total)
		r.Claim("victim", victims.Mean()/r.Cell(alone).Values("victim").Mean())
		if r.Scale == experiment.Full {
			r.Claim("kmin-trend", highest)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Points("goodput",
			"A NIC of two hosts by NIC-ECN's Kmin, all that was traversed; "+ofHost(r.Scale),
			"Kmin (cells)", "goodput (Gb/s)")
		t := &figure.Table{Name: "watermarks",
			Title: "A NIC of two hosts: goodput in Gb/s, first seed; " + ofHost(r.Scale),
			Header: []string{"Kmin", "Kmax", "Pmax %", "to C_1", "to C_2, 1 QP", "TX-PFC",
				"of the time"}}
		var at, many, victim experiment.Values
		gaps, pmax := nicOthers(r.Scale)
		for _, c := range r.Cells() {
			if c.Name == alone {
				continue
			}
			kmin := c.Params.(units.Bytes)
			for range c.Values("many") {
				at = append(at, float64(kmin))
			}
			many, victim = append(many, c.Values("many")...), append(victim, c.Values("victim")...)
			first := c.Seeds()[0]
			for i := range first.Values("many") {
				gbit := func(name string) string {
					return fmt.Sprintf("%.1f", first.Values(name)[i]/1e9)
				}
				t.Row(int(kmin), int(kmin+gaps[i/len(pmax)]), int(pmax[i%len(pmax)]), gbit("many"),
					gbit("victim"), first.Values("pauses")[i], fmt.Sprintf("%.2f",
						first.Values("paused")[i]))
			}
		}
		p.Add("to C_1", at, many.Scaled(1e-9))
		p.Add("to C_2, 1 QP", at, victim.Scaled(1e-9))
		return []figure.Figure{p, t}
	},
}
