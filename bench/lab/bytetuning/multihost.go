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

// inCells answers a watermark's thresholds as the paper counts them.
func inCells(b units.Bytes) float64 { return float64(b) / float64(bytetuning.Cell) }
