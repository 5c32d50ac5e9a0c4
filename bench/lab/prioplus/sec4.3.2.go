package prioplus

import (
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// swing is how far n synchronised Swift flows, with W_AI in bytes, let the delay swing, in seconds (appendix D): a round trip's additive
// increases beyond the target, and the cut that answers them below it. The appendix prints max(), and β over
// the target; Swift's cut is of the delay, and max_mdf bounds it.
func swing(n int, wai, beta, maxMDF float64, target units.Duration) float64 {
	above := float64(n) * 8 * wai / float64(rate)
	delay := target.Seconds() + above
	return above + min(beta*above/delay, maxMDF)*delay
}

// sec432: how wide channels are.
var sec432 = &experiment.Experiment{
	ID:    "prioplus/sec4.3.2",
	Seeds: once,
	Run: func(j *experiment.Job) error {
		const base = 12 * units.Microsecond
		for n := 0; n <= 300; n += 10 {
			j.Series("A").Add(float64(n), swing(n, 150, 0.8, 0.5, base+20*units.Microsecond))
		}
		j.Value("A", swing(150, 150, 0.8, 0.5, base+20*units.Microsecond))
		j.Value("B", workload.DelayNoise.Quantile(0.9985).Seconds())
		channels, err := channelsOf("n=2,a=3.2us,b=0.8us", cc.Path{LineRate: rate, BaseRTT: base, Payload: payload})
		if err != nil {
			return err
		}
		j.Value("pitch", (channels[1].Target - channels[0].Target).Microseconds())
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("a-150-flows", 1e6*r.Values("A")[0])
		r.Claim("width", r.Values("pitch")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		s := r.Series("A").Scaled(1, 1e6)
		p := figure.Lines("swing", "Swing of synchronised Swift flows, W_AI 150 B, β 0.8", "flows", "A (µs)")
		return []figure.Figure{p.Add("appendix D, with Swift's own cut", s.X, s.Y)}
	},
}
