package fabriclab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// weighing is a set of queues that share a link: their weights, and the length of their frames.
type weighing struct{ Weights, Frames []int }

// roundRobin: queues that are never empty get their weights' shares of the wire.
var roundRobin = &experiment.Experiment{
	ID: "fabric/dwrr",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, w := range []weighing{
			{[]int{1, 2, 4, 8}, []int{256, 1024, 4096, 9000}}, {[]int{1, 2, 4, 8},
				[]int{9000, 4096, 1024, 256}},
			{[]int{50, 50}, []int{4096, 4096}}, {[]int{99, 1}, []int{4096, 4096}},
		} {
			cells = append(cells,
				experiment.Cell{Name: fmt.Sprintf("weights %v frames %v", w.Weights, w.Frames),
					Params: w})
		}
		return cells
	},
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Run: func(j *experiment.Job) error {
		w := j.Params.(weighing)
		var qs fabric.Queues
		total := 0
		for i, weight := range w.Weights {
			qs[i] = fabric.Queue{Level: 1, Weight: weight, Limit: 2 * units.MiB}
			total += weight
		}
		sink := len(w.Weights)
		n := fabric.Star(fabric.Parts{Config: fabric.Config{MTU: 9216},
			Switch: fabric.SwitchConfig{Queues: qs.At()}}, sink+1, fabric.Link{Rate: 100 * gbps})
		if err := n.Build(); err != nil {
			return err
		}
		for i, length := range w.Frames {
			openloop.Put(n, n.Host(i),
				backlog(openloop.Frame{Len: length, Dst: sink, DSCP: uint8(8 * i)}), nil)
		}
		openloop.Put(n, n.Host(sink), nil, nil)
		if err := n.Run(units.Time(10 * units.Millisecond)); err != nil {
			return err
		}
		out := n.Switches()[0].Ports()[sink]
		for i, weight := range w.Weights {
			bytes := float64(out.QueueStats(i).Frames) * float64(w.Frames[i]+outside)
			j.Value("share", bytes/float64(out.Stats().Bytes))
			j.Value("weight", float64(weight)/float64(total))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		worst := 0.0
		shares, weights := r.Values("share"), r.Values("weight")
		for i := range shares {
			worst = max(worst, math.Abs(shares[i]/weights[i]-1))
		}
		r.Claim("shares", worst)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{figure.Points("shares", "Shares of the link", "weight", "share").
			Add("queues of all runs", r.Values("weight"), r.Values("share"))}
	},
}
