package fabriclab

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// red: the share of marked frames is the curve's probability at every queue length.
var red = &experiment.Experiment{
	ID:  "fabric/red",
	Run: sweepQueue,
	Judge: func(r *experiment.Results) {
		worst := 0.0
		for i := range redBins {
			measured, curve := redBin(r.Pool, i)
			worst = max(worst, math.Abs(measured-curve))
		}
		r.Claim("curve", worst)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var x, measured, curve []float64
		for i := range redBins {
			m, c := redBin(r.Pool, i)
			x, measured, curve = append(x, (float64(i)+0.5)*redWidth/1000), append(measured, m),
				append(curve, c)
		}
		return []figure.Figure{figure.Lines("curve", "Marking", "queue (KB)",
			"share of frames marked").
			Add("curve", x, curve).Add("measured", x, measured)}
	},
}

const (
	redBins  = 19 // of 25 KB
	redWidth = 25_000
	redEach  = 10_000 // minimum number of frames in a bin
	redTop   = 500_000
)

var redCurve = fabric.ECN{Kmin: 100_000, Kmax: 400_000, Pmax: 0.2}

// redBin returns the share of the frames of a bin that were marked, and the curve's probability.
func redBin(p experiment.Pool, i int) (measured, curve float64) {
	of := func(what string) float64 { return p.Values(fmt.Sprintf("%s %d", what, i)).Sum() }
	return of("marked") / of("frames"), of("curve") / of("frames")
}

// sweepQueue lets the queue grow and shrink until each length has been seen often enough.
func sweepQueue(j *experiment.Job) error {
	var qs fabric.Queues
	qs[0].ECN = redCurve
	n := bottleneck(fabric.Parts{
		Config: fabric.Config{Seed: j.Seed}, Host: fabric.HostConfig{TxDepth: 4},
		Switch: fabric.SwitchConfig{Queues: qs.At()},
	}, 2, 100*gbps)
	if err := n.Build(); err != nil {
		return err
	}
	out := n.Switches()[0].Ports()[2]
	grows := true
	for i := range 2 {
		at := 0.0
		openloop.Put(n, n.Host(i), func() (openloop.Frame, bool) {
			rate := 45 * gbps
			if grows {
				rate = 55 * gbps
			}
			at += float64(rate.Duration(1000 + outside - 4))
			return openloop.Frame{At: units.Time(at), Len: 996, Dst: 2, ECN: wire.ECNECT0}, true
		}, nil)
	}
	openloop.Put(n, n.Host(2), nil, nil)

	var frames, marked, curve [redBins]float64
	before, marks := units.Bytes(0), uint64(0)
	out.Watch(0, func(_ units.Time, now units.Bytes) {
		if bin := int(before / redWidth); now > before && bin < redBins {
			frames[bin]++
			marked[bin] += float64(out.QueueStats(0).Marked - marks)
			switch {
			case before >= redCurve.Kmax:
				curve[bin]++
			case before > redCurve.Kmin:
				curve[bin] += redCurve.Pmax * float64(before-redCurve.Kmin) /
					float64(redCurve.Kmax-redCurve.Kmin)
			}
		}
		before, marks = now, out.QueueStats(0).Marked
		if now >= redTop {
			grows = false
		} else if now < 2000 {
			grows = true
		}
	})
	n.Every(100*units.Microsecond, func(units.Time) bool {
		least := frames[0]
		for _, f := range frames {
			least = min(least, f)
		}
		j.Progress(least / redEach)
		if least >= redEach || j.Context().Err() != nil {
			n.Stop()
		}
		return true
	})
	if err := n.Run(units.Time(units.Second)); !errors.Is(err, fabric.ErrStopped) {
		return fmt.Errorf("some queue lengths were seen too rarely: %v, %w", frames, err)
	}
	for i := range redBins {
		j.Value(fmt.Sprintf("frames %d", i), frames[i])
		j.Value(fmt.Sprintf("marked %d", i), marked[i])
		j.Value(fmt.Sprintf("curve %d", i), curve[i])
	}
	return j.Context().Err()
}
