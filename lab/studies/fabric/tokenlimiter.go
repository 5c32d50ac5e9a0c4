package fabriclab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// tokenPair is the sizes of a token and of the data that it releases, in bytes on the wire.
type tokenPair struct{ Token, Data int }

// tokenLimiter: the token queue gets token/(token+data) of the link.
var tokenLimiter = &experiment.Experiment{
	ID: "fabric/token-limiter",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, p := range []tokenPair{{84, 1538}, {94, 1110}, {94, 2220}, {94, 4440}, {94, 8880}} {
			cells = append(cells, experiment.Cell{Name: fmt.Sprintf("%d:%d", p.Token, p.Data),
				Params: p})
		}
		return cells
	},
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Run: func(j *experiment.Job) error {
		p := j.Params.(tokenPair)
		share := float64(p.Token) / float64(p.Token+p.Data)
		var qs fabric.Queues
		qs[7] = fabric.Queue{Share: share, Limit: 10_000}
		qs[0] = fabric.Queue{Limit: 100_000}
		n := fabric.Star(fabric.Parts{Config: fabric.Config{MTU: 9216},
			Switch: fabric.SwitchConfig{Queues: qs.At()}}, 3, fabric.Link{Rate: 100 * gbps})
		if err := n.Build(); err != nil {
			return err
		}
		openloop.Put(n, n.Host(0),
			backlog(openloop.Frame{Len: p.Token - outside, Dst: 2, DSCP: 56}), nil)
		openloop.Put(n, n.Host(1), backlog(openloop.Frame{Len: p.Data - outside, Dst: 2}), nil)
		openloop.Put(n, n.Host(2), nil, nil)
		if err := n.Run(units.Time(10 * units.Millisecond)); err != nil {
			return err
		}
		got := float64(n.Switches()[0].Ports()[2].QueueStats(7).Frames) * float64(p.Token)
		j.Value("error", math.Abs(got/(share*125_000_000)-1))
		return nil
	},
	Judge: func(r *experiment.Results) { r.Claim("rate", r.Values("error").Max()) },
}
