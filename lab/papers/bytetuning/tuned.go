package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// tune runs a tuner from a watermark, and returns the best that it found by equation 14 with a
// weight of throughput.
func tune(j *experiment.Job, t bytetuning.Target, spec string, from bytetuning.Watermark,
	beta float64, budget int) (bytetuning.Watermark, error) {
	start, objective := bytetuning.Point{from}, &bytetuning.Objective{Beta: beta}
	tuner, err := bytetuning.New(spec, bytetuning.Problem{Layers: t.Layers(), Start: start,
		Energy: objective.Energy, Seed: j.Seed})
	if err != nil {
		return from, err
	}
	s := &bytetuning.Search{Target: t, Tuner: tuner, Objective: objective, Start: start,
		Budget: budget, Each: func(p bytetuning.Progress) {
			j.Progress(float64(p.N) / float64(budget+2))
		}}
	out, err := s.Run(j.Context())
	if err != nil {
		return from, err
	}
	return out.Best[0], nil
}

// recordWatermark records the watermark that was applied; recordedWatermark reads it.
func recordWatermark(j *experiment.Job, w bytetuning.Watermark) {
	j.Value("watermark", float64(w.Kmin), float64(w.Kmax), float64(w.Pmax), float64(w.Headroom),
		float64(w.Alpha))
}

func recordedWatermark(c experiment.Pool) string {
	v := c.Values("watermark")
	return bytetuning.Watermark{
		Kmin: units.Bytes(v[0]), Kmax: units.Bytes(v[1]), Pmax: bytetuning.Percent(v[2]),
		Headroom: units.Bytes(v[3]), Alpha: bytetuning.Alpha(v[4]),
	}.String()
}
