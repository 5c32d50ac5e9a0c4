package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig7: loss under thresholds and lengths of a pause, eight flows at 40 Gb/s.
var fig7 = &experiment.Experiment{
	ID:    "bytetuning/fig7",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		lost := func(kpfc units.Bytes, pause units.Duration, xon units.Bytes) (float64, error) {
			c := fluid.Default(8, 40*gbps)
			c.Kpfc, c.Pause, c.XON = kpfc*1000, pause, xon*1000
			r, err := fluid.Run(c)
			if err != nil {
				return 0, err
			}
			return r.Lost, nil
		}
		standard := fluid.PauseTime(40 * gbps)
		for k := units.Bytes(200); k <= 900; k += 100 {
			v, err := lost(k, standard, 0)
			if err != nil {
				return err
			}
			j.Series("kpfc").Add(float64(k), v)
		}
		for _, k := range []units.Bytes{300, 800} {
			for _, pause := range []units.Duration{100 * us, 200 * us, 400 * us, standard,
				1500 * us} {
				v, err := lost(k, pause, 0)
				if err != nil {
					return err
				}
				j.Series(fmt.Sprintf("tpfc %d", k)).Add(pause.Seconds(), v)
			}
		}
		v, err := lost(300, standard, 250)
		j.Value("xon", v)
		return err
	},
	Judge: func(r *experiment.Results) {
		kpfc, low, high := r.Series("kpfc"), r.Series("tpfc 300"), r.Series("tpfc 800")
		r.Claim("kpfc", kpfc.Y)
		r.Claim("tpfc", low.Y)
		// at 838 µs, the longest that the paper plots
		fixed := low.Y[3]
		r.Claim("worst", fixed/max(low.Y[:4].Max(), high.Y[:4].Max())) // of pauses up to it
		r.Claim("xon-better", r.Values("xon")[0]/fixed)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		k := figure.Lines("kpfc", "Loss of 8 x 40 Gb/s, pauses of 838 µs", "K_pfc (packets)",
			"lost (packets)")
		r.Series("kpfc").Draw(k, "5/200/10 %")
		t := figure.Lines("tpfc", "Loss of 8 x 40 Gb/s", "T_pfc (µs)", "lost (packets)")
		for _, n := range []string{"300", "800"} {
			r.Series("tpfc "+n).Scaled(1e6, 1).Draw(t, "K_pfc "+n)
		}
		return []figure.Figure{k, t}
	},
}
