package bytetuninglab

import (
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/scene"
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// multiHost is the second cluster. 500 queue pairs of a host would need 300 ms to be slowed down: a tenth of them here.
func multiHost(j *experiment.Job) *scene.MultiHost {
	m := scene.MultiHostLab(experiment.At(j.Scale, 50, 20))
	m.Seed = j.Seed
	if j.Scale == experiment.Small {
		m.Settle, m.Period = 5*ms, 5*ms
	}
	return m
}

// measureNIC runs a watermark of the NIC.
func measureNIC(j *experiment.Job, m *scene.MultiHost, w bytetuning.Watermark) (*scene.MultiHostRun, error) {
	if err := m.Apply(j.Context(), bytetuning.Point{w}); err != nil {
		return nil, err
	}
	return m.Run(j.Context())
}

// tuneNIC answers the best watermark that some measurements find, by equation 14 with a weight of throughput.
func tuneNIC(j *experiment.Job, m *scene.MultiHost, beta float64, budget int) (bytetuning.Watermark, error) {
	objective := &bytetuning.Objective{Beta: beta}
	start := bytetuning.Point{m.Default()}
	tuner, err := bytetuning.New(central, bytetuning.Problem{Layers: m.Layers(), Start: start, Energy: objective.Energy, Seed: j.Seed})
	if err != nil {
		return bytetuning.Watermark{}, err
	}
	s := &bytetuning.Search{Target: m, Tuner: tuner, Objective: objective, Start: start, Budget: budget, Each: func(p bytetuning.Progress) {
		j.Progress(float64(p.N) / float64(budget+2))
	}}
	out, err := s.Run(j.Context())
	if err != nil {
		return bytetuning.Watermark{}, err
	}
	return out.Best[0], nil
}

// inCells answers a watermark's thresholds as the paper counts them.
func inCells(b units.Bytes) float64 { return float64(b) / float64(bytetuning.Cell) }
