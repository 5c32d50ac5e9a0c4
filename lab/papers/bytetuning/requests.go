package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// measureRequests records the results of a scene's requests under a watermark: payload that arrived
// (goodput, bit/s), completed requests (iops, 1/s) and their mean, p50 and p99 (s), and of the
// switches the queue (bytes), marks (1/s), losses and pauses.
func measureRequests(j *experiment.Job, t *scene.Target, w bytetuning.Watermark) error {
	var r *scene.Run
	var marked uint64
	t.Watch = func(now *scene.Run) {
		r = now
		r.Net.At(units.Time(t.Settle), func() { marked = r.Egress.QueueStats(0).Marked })
	}
	if err := t.Apply(j.Context(), bytetuning.Point{w}); err != nil {
		return err
	}
	m, err := t.Measure(j.Context())
	if err != nil {
		return fmt.Errorf("%v: %w", w, err)
	}
	goodput := 0.
	for _, f := range m.Flows {
		goodput += float64(f.Throughput)
	}
	var took experiment.Values
	for _, q := range r.Requests {
		if q.Done.After(units.Time(t.Settle)) {
			took = append(took, q.Took().Seconds())
		}
	}
	j.Value("goodput", goodput)
	j.Value("iops", float64(len(took))/t.Period.Seconds())
	j.Value("mean", took.Mean())
	j.Value("p50", took.Percentile(50))
	j.Value("p99", took.Percentile(99))
	j.Value("queue", float64(m.Queue()))
	j.Value("marked", float64(r.Egress.QueueStats(0).Marked-marked)/t.Period.Seconds())
	j.Value("lost", float64(m.Lost))
	j.Value("pauses", float64(r.Pauses()))
	return nil
}
