package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/experiment"
)

// manyQPs stand for the 500 queue pairs of a host, which after 300 ms of simulation still stood at
// PFC's threshold.
func manyQPs(s experiment.Scale) int { return experiment.At(s, 50, 20) }

// ofHost is what captions say of that.
func ofHost(s experiment.Scale) string {
	return fmt.Sprintf("%d queue pairs of a host for 500", manyQPs(s))
}

// multiHost is the second cluster.
func multiHost(j *experiment.Job) *scene.MultiHost {
	m := scene.MultiHostLab(manyQPs(j.Scale))
	m.Seed = j.Seed
	if j.Scale == experiment.Small {
		m.Settle, m.Period = 5*ms, 5*ms
	}
	return m
}

// measureNIC runs a watermark of the NIC.
func measureNIC(j *experiment.Job, m *scene.MultiHost, w bytetuning.Watermark) (*scene.MultiHostRun,
	error) {
	if err := m.Apply(j.Context(), bytetuning.Point{w}); err != nil {
		return nil, err
	}
	return m.Run(j.Context())
}
