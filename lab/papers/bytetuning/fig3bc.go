package bytetuninglab

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig3bcSpace is a third of the traversal: every other Kmin and about every other Pmax, 1080 points
// of 3300.
func fig3bcSpace(s experiment.Scale) bytetuning.Space {
	const cell = bytetuning.Cell
	space := bytetuning.Traversal()
	if s == experiment.Small {
		space.Kmin = []units.Bytes{0, 2500 * cell, 5000 * cell}
		space.Pmax = []bytetuning.Percent{50}
		space.Headroom = []units.Bytes{100 * cell, 300 * cell, 600 * cell}
		return space
	}
	space.Kmin = nil
	for k := units.Bytes(0); k <= 5000; k += 1000 {
		space.Kmin = append(space.Kmin, k*cell)
	}
	space.Pmax = []bytetuning.Percent{1, 10, 30, 50, 70, 90}
	return space
}

// fig3bcScene has the lab's other 23 hosts send; the paper says 24, but has 24 hosts in all.
func fig3bcScene(s experiment.Scale, seed uint64) *scene.Target {
	l := scene.Lab()
	l.Senders, l.QPs, l.Message = experiment.At(s, 23, 8), experiment.At(s, 50, 10), 64*units.KiB
	l.Requests, l.Interval = true, ms
	l.Settle, l.Period, l.Seed = experiment.At(s, 15*ms, 3*ms), experiment.At(s, 20*ms, 6*ms), seed
	return &scene.Target{Scene: l}
}

// fig3bc: bursts of all hosts to one, for each watermark. FCT is the mean burst's as the paper
// computes it, whose 136.4 ms and 7.32 IOPS are each other's reciprocals: the data outstanding on
// queue pairs over the rate of arrival, so that bursts that do not end count.
var fig3bc = &experiment.Experiment{
	ID: "bytetuning/fig3bc",
	Cells: func(s experiment.Scale) []experiment.Cell {
		cells := []experiment.Cell{{Name: "benchmark", Params: bytetuning.Alpha(0)}}
		return append(cells, experiment.Sweep("α %v", fig3bcSpace(s).Alpha...)...)
	},
	Run: func(j *experiment.Job) error {
		t := fig3bcScene(j.Scale, j.Seed)
		space := fig3bcSpace(j.Scale)
		space.Alpha = []bytetuning.Alpha{j.Params.(bytetuning.Alpha)}
		points := space.All()
		if j.Name == "benchmark" {
			w, err := bytetuning.Baseline("experience", t.Path())
			if err != nil {
				return err
			}
			points = []bytetuning.Watermark{w}
		}
		for n, w := range points {
			j.Progress(float64(n) / float64(len(points)))
			if err := measureRequests(j, t, w); err != nil {
				return err
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		points := fig3bcPoints(r)
		bench := r.Cell("benchmark")
		throughput, queue := bench.Values("goodput").Mean(), bench.Values("queue").Mean()
		fct := fig3bcFCT(r.Scale, bench.Values("goodput")).Mean()
		most, least, shortest, lossy := 0., math.Inf(1), math.Inf(1), 0
		for _, p := range points {
			most, least, shortest = max(most, p.throughput), min(least, p.fct), min(shortest,
				p.queue)
			if p.lost > 0 {
				lossy++
			}
		}
		w := weights(points)
		r.Claim("pfc-decides", max(math.Abs(w[0]), math.Abs(w[1]))-max(math.Abs(w[2]),
			math.Abs(w[3])))
		r.Claim("alpha-sign", experiment.With("alpha", w[1]).With("headroom", w[0]))
		note := fmt.Sprintf("standardised weights of headroom, α, Kmin and Pmax: %.2g, %.2g, "+
			"%.2g, %.2g; %d of %d points lose packets; "+
			"FCT is %.3g ms at the benchmark, and %.3g at the best; queues are %.3g and %.3g MB "+
			"at least", w[0], w[1], w[2], w[3], lossy, len(points), fct*1e3, least*1e3, queue/1e6,
			shortest/1e6)
		bursts := fig3bcScene(r.Scale, 1)
		r.Note("gains", "not judged: %d queue pairs fill the link under every watermark that "+
			"loses nothing, so that the best of all has %.2g %% more throughput than the "+
			"benchmark and %.2g %% less FCT; %s", bursts.Senders*bursts.QPs,
			100*(most/throughput-1), 100*(1-least/fct), note)
		r.Note("pfc-decides", "%s", note)
		r.Note("alpha-sign", "%s. If nothing is lost, the link is full and α changes nothing; "+
			"mean FCT of points that lose, in ms:%s", note, lossyByAlpha(r.Scale, points))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		title := fmt.Sprintf("Bursts of %d hosts to one", fig3bcScene(r.Scale, 1).Senders)
		trade := figure.Points("traversal", title+": every watermark", "queue (MB)",
			"goodput (Gb/s)")
		fct := figure.Points("fct", title+": every watermark", "headroom (cells)", "mean FCT (ms)")
		for _, a := range fig3bcSpace(r.Scale).Alpha {
			var q, g, h, f []float64
			for _, p := range fig3bcPoints(r) {
				if p.Alpha == a {
					q, g = append(q, p.queue/1e6), append(g, p.throughput/1e9)
					h, f = append(h, float64(p.Headroom/bytetuning.Cell)), append(f, p.fct*1e3)
				}
			}
			trade.Add("α "+a.String(), q, g)
			fct.Add("α "+a.String(), h, f)
		}
		b := r.Cell("benchmark")
		trade.Add("benchmark", b.Values("queue").Scaled(1e-6), b.Values("goodput").Scaled(1e-9))
		benchmark := fig3bcFCT(r.Scale, b.Values("goodput")).Scaled(1e3)
		fct.Add("benchmark", slices.Repeat([]float64{300}, len(benchmark)), benchmark)
		return []figure.Figure{trade, fct}
	},
}

// fig3bcFCT returns the mean times of bursts, in s.
func fig3bcFCT(s experiment.Scale, goodput experiment.Values) (fct experiment.Values) {
	t := fig3bcScene(s, 1)
	for _, rate := range goodput {
		fct = append(fct, float64((t.Message*units.Bytes(t.Senders*t.QPs)).Bits())/rate)
	}
	return fct
}

// fig3bcPoint is a watermark and its effect on the bursts.
type fig3bcPoint struct {
	bytetuning.Watermark
	throughput, fct, queue, lost float64
}

func fig3bcPoints(r *experiment.Results) (all []fig3bcPoint) {
	for _, a := range fig3bcSpace(r.Scale).Alpha {
		space := fig3bcSpace(r.Scale)
		space.Alpha = []bytetuning.Alpha{a}
		c := r.Cell("α " + a.String())
		throughput, queue := overSeeds(c, "goodput"), overSeeds(c, "queue")
		lost := overSeeds(c, "lost")
		fct := fig3bcFCT(r.Scale, throughput)
		for n, w := range space.All() {
			all = append(all, fig3bcPoint{w, throughput[n], fct[n], queue[n], lost[n]})
		}
	}
	return all
}

// lossyByAlpha lists for each α the times of the points that lose packets.
func lossyByAlpha(s experiment.Scale, points []fig3bcPoint) (text string) {
	for _, a := range fig3bcSpace(s).Alpha {
		var fct, lost experiment.Values
		for _, p := range points {
			if p.Alpha == a && p.lost > 0 {
				fct, lost = append(fct, p.fct*1e3), append(lost, p.lost)
			}
		}
		if len(fct) > 0 {
			text += fmt.Sprintf(" α %v %.1f (%.0f packets lost)", a, fct.Mean(), lost.Mean())
		}
	}
	return text
}

// weights returns the standardised coefficients of headroom, α (its exponent), Kmin and Pmax in a
// linear regression of FCT.
func weights(points []fig3bcPoint) (w [4]float64) {
	y := make(experiment.Values, len(points))
	var x [4]experiment.Values
	for i, p := range points {
		y[i] = p.fct
		for k, v := range [4]float64{float64(p.Headroom), float64(p.Alpha), float64(p.Kmin),
			float64(p.Pmax)} {
			x[k] = append(x[k], v)
		}
	}
	y = standardised(y)
	// The grid is complete: its columns are uncorrelated, and each coefficient depends on
	// its column alone.
	for k := range x {
		for i, v := range standardised(x[k]) {
			w[k] += v * y[i] / float64(len(y))
		}
	}
	return w
}

// standardised returns values with mean 0 and variance 1, or 0 if all values are equal.
func standardised(v experiment.Values) experiment.Values {
	mean, square := v.Mean(), 0.
	out := make(experiment.Values, len(v))
	for i := range v {
		out[i] = v[i] - mean
		square += out[i] * out[i] / float64(len(v))
	}
	if square > 0 {
		return out.Scaled(1 / math.Sqrt(square))
	}
	return out
}
