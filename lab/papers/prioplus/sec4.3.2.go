package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// swing returns A of a number of Swift flows with W_AI in bytes, packets of 1000 B (appendix D,
// with Swift's own cut: the appendix prints max for min).
func swing(n int, wai float64) (units.Duration, error) {
	inner, err := cc.Parse(fmt.Sprintf("swift:ai=%g,beta=0.8,max_mdf=0.5", wai/1000))
	if err != nil {
		return 0, err
	}
	return prioplus.Fluctuation(n, inner, cc.Path{LineRate: rate, BaseRTT: 12 * units.Microsecond,
		Payload: 1000, Signals: cc.SignalDelay})
}

// sec432: the width of channels.
var sec432 = &experiment.Experiment{
	ID:    "prioplus/sec4.3.2",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		const base = 12 * units.Microsecond
		for n := 10; n <= 300; n += 10 {
			a, err := swing(n, 150)
			if err != nil {
				return err
			}
			j.Series("A").Add(float64(n), a.Seconds())
			if n == 150 {
				j.Value("A", a.Microseconds())
			}
		}
		j.Value("B", workload.DelayNoise.Quantile(0.9985).Seconds())
		channels, err := channelsOf("n=2,a=3.2us,b=0.8us",
			cc.Path{LineRate: rate, BaseRTT: base, Payload: payload})
		if err != nil {
			return err
		}
		j.Value("pitch", (channels[1].Target - channels[0].Target).Microseconds())
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("a-150-flows", r.Values("A")[0])
		r.Claim("width", r.Values("pitch")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		s := r.Series("A").Scaled(1, 1e6)
		p := figure.Lines("swing", "Swing of synchronised Swift flows, W_AI 150 B, β 0.8", "flows",
			"A (µs)")
		return []figure.Figure{p.Add("appendix D, with Swift's own cut", s.X, s.Y)}
	},
}
