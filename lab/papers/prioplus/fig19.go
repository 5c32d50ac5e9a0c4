package prioplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig19: the swing of the queue under n synchronised Swift flows (appendix D).
var fig19 = &experiment.Experiment{
	ID:    "prioplus/fig19",
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Cells: func(s experiment.Scale) []experiment.Cell {
		return experiment.Sweep("n=%d", experiment.At(s, []int{1, 5, 10, 20, 50, 100, 150},
			[]int{1, 10, 50})...)
	},
	Run: func(j *experiment.Job) error {
		n := j.Params.(int)
		// A share of what the target holds: W_AI alone would take 10 ms to reach it.
		const held = bdp + 20e-6*float64(rate)/8/packet
		spec, err := cc.Parse(
			fmt.Sprintf(
				"swift:base_target=rtt+20us,per_hop=0s,fs_range=0s,ai=%g,"+
					"beta=0.8,max_mdf=0.5,init_cwnd=%g",
				fig19WAI/packet, held/float64(n)))
		if err != nil {
			return err
		}
		flows := make([]sim.Flow, n)
		for i := range flows {
			flows[i].Control = spec
		}
		config := micro(j.Seed, experiment.At(j.Scale, 20*units.Millisecond, 5*units.Millisecond))
		config.Jitter = 0
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		from, to := units.Time(config.Until/4), units.Time(config.Until) // the last 15 of 20 ms
		swing := r.Queues[0].Length.Percentile(99.5, from, to) - r.Queues[0].Length.Percentile(0.5,
			from, to)
		j.Value("swing", swing*8/float64(rate))
		base := r.Traces[0].BaseRTT
		j.Value("target", (base + 20*units.Microsecond).Seconds())
		j.Value("fluid", fluidSwing(n, base.Seconds(), (base+20*units.Microsecond).Seconds()))
		queue := j.Series("queue")
		for at := to.Add(-units.Millisecond); at.Before(to); at = at.Add(2 * units.Microsecond) {
			queue.Add(units.Duration(at).Seconds(),
				r.Queues[0].Length.Mean(at, at.Add(2*units.Microsecond)))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		bounded, swings := claims.Value{}, []claims.Value{}
		var inFabric []string
		for _, c := range r.Cells() {
			n := c.Params.(int)
			swing := c.Values("swing").Max()
			bounded = bounded.With(fmt.Sprint(n),
				claims.Number(swing/(swingBound(n,
					c.Values("target").Mean())+float64(n)*packet*8/float64(rate))))
			if n <= 100 {
				swings = append(swings, claims.Point(float64(n), 1e6*c.Values("fluid").Mean()))
				inFabric = append(inFabric, fmt.Sprintf("%.2f (%d)", 1e6*swing, n))
			}
		}
		r.Claim("bounded", bounded)
		r.Note("bounded", "of the bound and a packet of each flow: %s", wholePackets)
		if r.Scale == experiment.Full {
			r.Claim("linear-in-n", claims.List(swings...))
			r.Note("linear-in-n", "of a fluid, from when it reaches the target. Of packets in "+
				"the fabric, in µs (flows): %s: %s", strings.Join(inFabric, ", "), wholePackets)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		swing := figure.Lines("swing", "Swing of the delay, p0.5 to p99.5", "flows", "time (µs)")
		var x, y, bound, fluid []float64
		queue := figure.Steps("queue", "The last ms of the queue", "time (ms)", "queue (KB)")
		for _, c := range r.Cells() {
			n := c.Params.(int)
			x, y = append(x, float64(n)), append(y, c.Values("swing").Max()*1e6)
			bound = append(bound, swingBound(n, c.Values("target").Mean())*1e6)
			fluid = append(fluid, 1e6*c.Values("fluid").Mean())
			if n == 1 || n == 10 || n == 50 {
				c.Seeds()[0].Series("queue").Scaled(1e3, 1e-3).Draw(queue, c.Name)
			}
		}
		return []figure.Figure{swing.Add("fabric", x, y).Add("fluid", x, fluid).Add("bound", x,
			bound), queue}
	},
}

const wholePackets = "a window releases whole packets: n synchronised flows add n packets to the " +
	"queue at once, 89 ns each, where the formula has n times 150 B; from 20 flows on they are " +
	"not synchronised any more, since each is clocked by its own ACKs"

const fig19WAI = 150.0 // bytes on the wire (section 5)

// swingBound returns appendix D's bound, in seconds, for a target in seconds: a step of all flows
// beyond the target, and the cut that follows. The paper prints max for min.
func swingBound(n int, target float64) float64 {
	step := float64(n) * fig19WAI * 8 / float64(rate)
	return step + min(0.8*step/target, 0.5)*target
}

// fluidSwing is the swing of the delay, in seconds, of a fluid from when it reaches the target on:
// the window of n synchronised flows grows by n times W_AI in a round trip while the delay of the
// round trip before is below target, and is cut, once in the delay that caused the cut, by the part
// of that delay beyond it. It then settles at the target, since a cut removes less than the excess.
func fluidSwing(n int, base, target float64) float64 {
	const (
		step  = 20e-9 // s
		until = 2e-3
	)
	bytesPerSecond := float64(rate) / 8
	window := 0.999 * target * bytesPerSecond
	delays := []float64{0.999 * target}
	least, most := math.Inf(1), 0.0
	next := 0.0 // time from which a cut is allowed
	for at := 0.0; at < until; at += step {
		// What arrives now was in the queue a delay ago.
		back := int(math.Round(delays[len(delays)-1] / step))
		seen := delays[max(0, len(delays)-1-back)]
		switch {
		case seen < target:
			window += float64(n) * fig19WAI * step / seen
		case at >= next:
			window *= 1 - min(0.8*(seen-target)/seen, 0.5)
			next = at + seen
		}
		delay := max(base, window/bytesPerSecond)
		delays = append(delays, delay)
		if most > 0 || delay >= target {
			least, most = min(least, delay), max(most, delay)
		}
	}
	return most - least
}
