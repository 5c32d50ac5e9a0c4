package fabriclab

import (
	"errors"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// md1 and mm1: Poisson arrivals at one queue, of frames of constant and of exponential length.
var (
	md1 = queue("fabric/md1", func(float64) int { return 1000 })
	mm1 = queue("fabric/mm1", func(u float64) int {
		return min(max(int(-1000*math.Log(1-u)+0.5), 84), 9216)
	})
)

// queue measures the wait at several loads. length turns a uniform number into bytes on the wire.
func queue(id string, length func(u float64) int) *experiment.Experiment {
	return &experiment.Experiment{
		ID: id,
		Cells: func(s experiment.Scale) []experiment.Cell {
			return experiment.Sweep("rho=%g", experiment.At(s, []float64{0.5, 0.7, 0.8, 0.9},
				[]float64{0.5, 0.7, 0.8})...)
		},
		Run: func(j *experiment.Job) error {
			rho := j.Params.(float64)
			frames := int(8 / ((1 - rho) * (1 - rho) * 0.005 * 0.005))
			return waits(j, rho, frames, length)
		},
		Judge: func(r *experiment.Results) {
			worst := 0.0
			for _, c := range r.Cells() {
				worst = max(worst, math.Abs(c.Values("wait").Mean()/formula(c)-1))
			}
			r.Claim("waiting", worst)
		},
		Figures: func(r *experiment.Results) []figure.Figure {
			var rho, measured, theory []float64
			for _, c := range r.Cells() {
				rho = append(rho, c.Params.(float64))
				measured = append(measured, c.Values("wait").Mean()*1e9)
				theory = append(theory, formula(c)*1e9)
			}
			return []figure.Figure{figure.Lines("waiting", "Mean time in the queue", "load",
				"wait (ns)").
				Add("formula", rho, theory).Add("measured", rho, measured)}
		},
	}
}

// formula returns Pollaczek and Khinchine's mean wait for the service times that were drawn.
func formula(c experiment.Pool) float64 {
	service, square := c.Values("service").Mean(), c.Values("service²").Mean()
	rate := c.Values("arrivals").Mean() // frames a second
	return rate * square / (2 * (1 - rate*service))
}

// waits records the mean wait of a number of frames, after a tenth as many.
func waits(j *experiment.Job, rho float64, frames int, length func(u float64) int) error {
	const sources = 8
	rate := 100 * gbps
	n := bottleneck(fabric.Parts{
		Config: fabric.Config{Seed: j.Seed, MTU: 9216}, Host: fabric.HostConfig{TxDepth: 1 << 20},
	}, sources, rate)
	rng := generator(j.Seed)
	mean := 0.0
	const steps = 1 << 16
	for i := range steps {
		mean += float64(length((float64(i)+0.5)/steps)) / steps
	}
	gap := mean * float64(rate.Duration(1)) * sources / rho
	for i := range sources {
		at := 0.0
		openloop.Put(n, n.Host(i), func() (openloop.Frame, bool) {
			at += rng.ExpFloat64() * gap
			return openloop.Frame{At: units.Time(at), Len: length(rng.Float64()) - outside,
				Dst: sources}, true
		}, nil)
	}
	var wait, service, square float64
	warm, got := frames/10, 0
	openloop.Put(n, n.Host(sources), nil, func(a openloop.Arrival) {
		got++
		if got <= warm {
			return
		}
		onWire := units.Bytes(max(a.Len, openloop.MinLen) + outside)
		if a.Len+4 < 64 {
			onWire = 84
		}
		took := rate.Duration(onWire)
		wait += a.Arrived.Sub(a.Sent.Add((800 * gbps).Duration(onWire))).Seconds() - took.Seconds()
		service += took.Seconds()
		square += took.Seconds() * took.Seconds()
		if got%(1<<16) == 0 {
			j.Progress(float64(got) / float64(frames+warm))
			if j.Context().Err() != nil {
				n.Stop()
			}
		}
		if got == frames+warm {
			n.Stop()
		}
	})
	if err := n.Run(units.Time(1000 * units.Second)); !errors.Is(err, fabric.ErrStopped) {
		return err
	}
	j.Value("wait", wait/float64(frames))
	j.Value("service", service/float64(frames))
	j.Value("service²", square/float64(frames))
	j.Value("arrivals", sources/(gap/float64(units.Second)))
	return j.Context().Err()
}
