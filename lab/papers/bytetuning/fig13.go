package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// timing is DCQCN's timing, at both ends.
type timing struct {
	Cut, CNP units.Duration // Rate_Reduce_Monitor_Period, Min_Time_Between_CNPs
}

func (t timing) String() string { return fmt.Sprintf("%d/%d", t.Cut/us, t.CNP/us) }

// nothing replaces a time of 0 where 0 means a default.
const nothing = units.Nanosecond

// fig13: two senders to one of the two hosts of a NIC, whose NIC-ECN is tuned for each timing of
// DCQCN.
var fig13 = &experiment.Experiment{
	ID:    "bytetuning/fig13",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		periods := experiment.At(s, []units.Duration{0, us, 4 * us, 16 * us},
			[]units.Duration{0, 4 * us})
		for _, cut := range periods {
			for _, cnp := range periods {
				t := timing{cut, cnp}
				cells = append(cells, experiment.Cell{Name: t.String(), Params: t})
			}
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		m := multiHost(j)
		t := j.Params.(timing)
		m.Victim, m.CNPs = false, max(t.CNP, nothing)
		m.Cut(max(t.Cut, nothing))
		m.Settle, m.Period = experiment.At(j.Scale, 10*ms, 5*ms), 5*ms
		w, err := tune(j, m, central, m.Default(), 0.5, experiment.At(j.Scale, 20, 8))
		if err != nil {
			return err
		}
		tuned, err := measureNIC(j, m, w)
		if err != nil {
			return err
		}
		manufacturer, err := measureNIC(j, m, m.Default())
		if err != nil {
			return err
		}
		profile, err := measureNIC(j, m, m.SwitchProfile())
		if err != nil {
			return err
		}
		j.Value("pauses of the profile", float64(profile.Pauses))
		j.Value("pauses", float64(manufacturer.Pauses), float64(tuned.Pauses))
		j.Value("paused", manufacturer.Paused.Seconds(), tuned.Paused.Seconds())
		j.Value("marked", float64(manufacturer.Marked), float64(tuned.Marked))
		j.Value("marked by the NIC", float64(manufacturer.NICMarked), float64(tuned.NICMarked))
		j.Value("throughput", float64(manufacturer.Total()), float64(tuned.Total()))
		recordWatermark(j, w)
		return nil
	},
	Judge: func(r *experiment.Results) {
		fewer(r, "tx-pfc", "pauses")
		if r.Scale == experiment.Full {
			fewer(r, "duration", "paused")
			more := func(name string) (n float64) {
				for _, c := range r.Cells() {
					n += number(c.Values(name)[1] > c.Values(name)[0])
				}
				return n
			}
			r.Claim("marks", more("marked by the NIC")/float64(len(r.Cells())))
			r.Note("marks", "marks of the NIC. All marks, those of switches included, are more in "+
				"%v of %d cases", more("marked"), len(r.Cells()))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "timing",
			Title: "Two to one host of a NIC: NIC-ECN of its size and tuned, by DCQCN's " +
				"timing (cut period / CNP interval in µs); " + ofHost(r.Scale),
			Header: []string{"timing", "TX-PFC", "tuned", "paused ms", "tuned", "marked", "tuned",
				"by the NIC", "tuned", "Gb/s", "tuned", "tuned watermark"}}
		for _, c := range r.Cells() {
			cells := []any{c.Name}
			for _, x := range []struct {
				name  string
				scale float64
			}{{"pauses", 1}, {"paused", 1e3}, {"marked", 1}, {"marked by the NIC", 1},
				{"throughput", 1e-9}} {
				cells = append(cells, c.Values(x.name)[0]*x.scale, c.Values(x.name)[1]*x.scale)
			}
			t.Row(append(cells, recordedWatermark(c))...)
		}
		return []figure.Figure{t}
	},
}

// fewer sets a claim to how much less there is tuned than by default, in the cases in which the
// default pauses.
func fewer(r *experiment.Results, claim, what string) {
	less := claims.Value{}
	var profile, tuned experiment.Values
	cases := 0
	for _, c := range r.Cells() {
		profile = append(profile, c.Values("pauses of the profile")...)
		tuned = append(tuned, c.Values("pauses")[1])
		if v := c.Values(what); v[0] > 0 {
			less = less.With(c.Name, claims.Number(1-v[1]/v[0]))
			cases++
		}
	}
	if cases > 0 {
		r.Claim(claim, less)
	}
	r.Note(claim, "NIC-ECN of the NIC's size pauses in %d of %d cases. With a switch's profile, "+
		"which PFC precedes, the NIC pauses %.0f to %.0f times, and tuned %.0f at most", cases,
		len(r.Cells()), profile.Min(), profile.Max(), tuned.Max())
}
