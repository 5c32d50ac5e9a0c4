package fabriclab

import (
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// lineRate: a full link carries exactly its rate.
var lineRate = &experiment.Experiment{
	ID: "fabric/linerate",
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%d B", 84, 1082, 1538, 4178, 9038)
	},
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Run: func(j *experiment.Job) error {
		onWire := j.Params.(int)
		n := fabric.New(fabric.Config{MTU: 9216})
		n.Connect(n.AddHost(fabric.HostConfig{}), n.AddHost(fabric.HostConfig{}),
			fabric.Link{Rate: 100 * gbps})
		if err := n.Build(); err != nil {
			return err
		}
		openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: onWire - outside, Dst: 1}), nil)
		sink := openloop.Put(n, n.Host(1), nil, nil)
		if err := n.Run(units.Time(10 * units.Millisecond)); err != nil {
			return err
		}
		carried := float64(sink.Received) * float64(onWire)
		j.Value("bytes", carried)
		j.Value("difference", math.Abs(carried-float64(125_000_000/onWire*onWire)))
		return nil
	},
	Judge: func(r *experiment.Results) { r.Claim("bytes", r.Values("difference").Max()) },
}
