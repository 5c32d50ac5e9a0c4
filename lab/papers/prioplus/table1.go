package prioplus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// table1: channels lie above each other and do not overlap.
var table1 = &experiment.Experiment{
	ID:    "prioplus/table1",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		violations := 0
		for _, n := range []int{12, 32} {
			for _, rate := range []units.BitRate{1, 10, 25, 100, 400} {
				for _, base := range []units.Duration{5, 8, 12, 13, 20, 50} {
					for _, a := range []float64{0.1, 0.8, 1.6, 3.2, 6.4, 25} {
						for _, b := range []float64{0, 0.4, 0.8, 3, 20} {
							path := cc.Path{LineRate: rate * units.Gbps,
								BaseRTT: base * units.Microsecond, Payload: payload}
							channels, err := channelsOf(fmt.Sprintf("n=%d,eps=0s,a=%gus,b=%gus", n,
								a, b), path)
							if err != nil {
								return err
							}
							violations += overlaps(channels)
						}
					}
				}
			}
		}
		j.Value("violations", float64(violations))

		const base = 12 * units.Microsecond
		channels, err := channelsOf("n=12",
			cc.Path{LineRate: rate, BaseRTT: base, Payload: payload})
		if err != nil {
			return err
		}
		off := 0.0
		for k, ch := range channels {
			i := float64(k + 1)
			off = max(off, math.Abs((ch.Target-base).Nanoseconds()-4000*i),
				math.Abs((ch.Limit-base).Nanoseconds()-4000*i-2400))
			j.Series("D_target").Add(i, ch.Target.Seconds())
			j.Series("D_limit").Add(i, ch.Limit.Seconds())
		}
		j.Value("off", off)
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("ordered", r.Values("violations")[0])
		r.Claim("constants", r.Values("off")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Points("channels", "Channels of 12 priorities, base RTT 12 µs", "priority",
			"delay (µs)")
		for _, name := range []string{"D_target", "D_limit"} {
			r.Series(name).Scaled(1, 1e6).Draw(p, name)
		}
		return []figure.Figure{p}
	},
}

// channelsOf returns all channels of a table, the lowest first.
func channelsOf(text string, path cc.Path) ([]prioplus.Channel, error) {
	table, err := prioplus.ParseChannels(text)
	if err != nil {
		return nil, err
	}
	channels := make([]prioplus.Channel, table.N())
	for i := range channels {
		if channels[i], err = table.Of(i, path); err != nil {
			return nil, err
		}
	}
	return channels, nil
}

// overlaps counts channels that do not lie between their neighbours: D_limit of the one below,
// D_target and D_limit must come in this order.
func overlaps(channels []prioplus.Channel) (n int) {
	for i, ch := range channels {
		if ch.Target >= ch.Limit || i > 0 && channels[i-1].Limit >= ch.Target {
			n++
		}
	}
	return n
}
