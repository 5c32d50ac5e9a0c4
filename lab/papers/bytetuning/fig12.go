package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// incast is a set of bursts of one size on a number of queue pairs of each host.
type incast struct {
	QPs   int
	Burst units.Bytes
}

func (i incast) String() string { return fmt.Sprintf("%d QPs %d KB", i.QPs, i.Burst/1000) }

func fig12Cases(s experiment.Scale) []incast {
	return experiment.At(s, []incast{{10, 10_000}, {10, 64_000}, {50, 10_000}, {50, 64_000}},
		[]incast{{5, 10_000}})
}

// incastUnder is an incast with the watermark of a contender.
type incastUnder struct {
	Incast    incast
	Contender contender
}

func (u incastUnder) String() string { return fmt.Sprintf("%v %s", u.Incast, u.Contender.Name) }

// fig12Scene has bursts of 39 hosts to one; it measures twice the duration of the bursts that are
// in progress at once, after that duration.
func fig12Scene(s experiment.Scale, seed uint64, i incast) *scene.Target {
	l := scene.Lab()
	l.Hosts, l.Senders, l.QPs, l.Message = 10, experiment.At(s, 39, 12), i.QPs, i.Burst
	l.Requests, l.Interval, l.Seed = true, ms, seed
	round := l.Rate.Duration(i.Burst * units.Bytes(l.Senders*l.QPs))
	l.Settle, l.Period = 2*ms+round, 4*ms+2*round
	publish(&l)
	return &scene.Target{Scene: l}
}

// fig12: bursts of all hosts to one under watermarks that two tuners found, and under three given
// ones. Tuning measures as long as the watermarks are judged.
var fig12 = &experiment.Experiment{
	ID:    "bytetuning/fig12",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(s experiment.Scale) []experiment.Cell {
		var all []incastUnder
		for _, i := range fig12Cases(s) {
			for _, c := range contenders {
				all = append(all, incastUnder{i, c})
			}
		}
		return experiment.Sweep("%v", all...)
	},
	Run: func(j *experiment.Job) error {
		i, c := j.Params.(incastUnder).Incast, j.Params.(incastUnder).Contender
		t := fig12Scene(j.Scale, j.Seed, i)
		first := c.Name
		if c.Tuner != "" {
			first = "experience"
		}
		w, err := bytetuning.Baseline(first, t.Path())
		if err == nil && c.Tuner != "" {
			w, err = tune(j, fig12Scene(j.Scale, j.Seed, i), c.Tuner, w, 0.5, 20)
		}
		if err != nil {
			return err
		}
		recordWatermark(j, w)
		return measureRequests(j, t, w)
	},
	Judge: func(r *experiment.Results) {
		wins := 0
		for _, percentile := range []string{"p50", "p99"} {
			v := claims.Value{}
			for _, i := range fig12Cases(r.Scale) {
				of := func(name string) float64 {
					return r.Cell(incastUnder{i, contender{Name: name}}.String()).Values(
						percentile).Mean()
				}
				v = v.With(i.String(), claims.Number(1-of("bytetuning")/of("experience")))
				if of("acc") < 0.97*of("bytetuning") {
					wins++
				}
			}
			r.Claim(percentile, v)
		}
		r.Claim("one-case-acc", wins)
		note := experiment.At(r.Scale,
			"where bursts exceed the link, it is full under every watermark, which determines "+
				"their mean time. Equation 14 rewards a short queue, which the tuner gets by α: "+
				"bursts then wait in the hosts. The more pauses, the further apart are P50 and "+
				"P99 (table): without pauses, as under dcqcn's α 8, a queue serves all in the "+
				"order of arrival",
			"equation 14 rewards a short mean queue. Marking from the first packet on achieves "+
				"that, but slows bursts that the link could carry at once")
		for _, id := range []string{"p50", "p99", "one-case-acc"} {
			r.Note(id, "%s", note)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "fig12", Title: fmt.Sprintf("Bursts of %d hosts to one, each 1 ms",
			fig12Scene(r.Scale, 1, incast{}).Senders),
			Header: []string{"", "watermarks", "P50 FCT (ms)", "P99 FCT (ms)", "goodput (Gb/s)",
				"mean queue (KB)", "pauses", "lost", "found"}}
		for _, i := range fig12Cases(r.Scale) {
			for _, c := range contenders {
				cell := r.Cell(incastUnder{i, c}.String())
				v := func(name string) float64 { return cell.Values(name).Mean() }
				t.Row(i.String(), c.Name, v("p50")*1e3, v("p99")*1e3, v("goodput")/1e9,
					v("queue")/1e3, v("pauses"), v("lost"), recordedWatermark(cell.Seeds()[0]))
			}
		}
		return []figure.Figure{t}
	},
}
