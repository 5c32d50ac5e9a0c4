package bytetuninglab

import (
	"context"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/scene"
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// tune lets a tuner search a scene from the experience-based watermark, and answers the best that it found.
func tune(ctx context.Context, t *scene.Target, spec string, budget int, progress func(float64)) (bytetuning.Watermark, error) {
	w, err := bytetuning.Baseline("experience", t.Path())
	if err != nil {
		return w, err
	}
	start := bytetuning.Point{w}
	objective := bytetuning.NewObjective()
	tuner, err := bytetuning.New(spec, bytetuning.Problem{Layers: t.Layers(), Start: start, Energy: objective.Energy, Seed: t.Seed})
	if err != nil {
		return w, err
	}
	s := &bytetuning.Search{Target: t, Tuner: tuner, Objective: objective, Start: start, Budget: budget, Each: func(p bytetuning.Progress) {
		progress(float64(p.N) / float64(budget))
	}}
	out, err := s.Run(ctx)
	if err != nil {
		return w, err
	}
	return out.Best[0], nil
}

// recordWatermark takes down what was applied; recordedWatermark reads it.
func recordWatermark(j *experiment.Job, w bytetuning.Watermark) {
	j.Value("watermark", float64(w.Kmin), float64(w.Kmax), float64(w.Pmax), float64(w.Headroom), float64(w.Alpha))
}

func recordedWatermark(c experiment.Pool) string {
	v := c.Values("watermark")
	return bytetuning.Watermark{
		Kmin: units.Bytes(v[0]), Kmax: units.Bytes(v[1]), Pmax: bytetuning.Percent(v[2]), Headroom: units.Bytes(v[3]), Alpha: bytetuning.Alpha(v[4]),
	}.String()
}
