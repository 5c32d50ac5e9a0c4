package bytetuninglab

import (
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/scene"
	"github.com/goroce/goroce/units"
)

// requests is what became of a scene's requests while it was measured.
type requests struct {
	goodput        float64 // bit/s
	rate           float64 // that ended, 1/s
	mean, p50, p99 float64 // s, of those that ended
}

// requestsOf looks at a run after its measurement.
func requestsOf(r *scene.Run, t *scene.Target) (q requests) {
	var took experiment.Values
	for _, done := range r.Requests {
		if done.Done.After(units.Time(t.Settle)) {
			took = append(took, done.Took().Seconds())
		}
	}
	q.rate = float64(len(took)) / t.Period.Seconds()
	q.goodput = 8 * float64(t.Message) * q.rate
	q.mean, q.p50, q.p99 = took.Mean(), took.Percentile(50), took.Percentile(99)
	return q
}
