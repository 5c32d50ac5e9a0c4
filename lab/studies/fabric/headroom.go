package fabriclab

import (
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// headroom: PFC's headroom is enough, and one frame less is not.
var headroom = &experiment.Experiment{
	ID: "fabric/pfc-headroom",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, rate := range experiment.At(s, []units.BitRate{10 * gbps, 100 * gbps, 400 * gbps},
			[]units.BitRate{100 * gbps}) {
			for _, us := range experiment.At(s, []units.Duration{1, 2, 5, 10},
				[]units.Duration{1, 5}) {
				l := fabric.Link{Rate: rate, Delay: us * units.Microsecond}
				cells = append(cells, experiment.Cell{Name: rate.String() + " " + l.Delay.String(),
					Params: l})
			}
		}
		return cells
	},
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Run: func(j *experiment.Job) error {
		l := j.Params.(fabric.Link)
		tight := fabric.Headroom(l.Rate, l.Delay, l.Delay, headroomFrame+4, 480)
		_, crossed, err := crossThreshold(l, tight, math.MaxInt64/4)
		if err != nil {
			return err
		}
		// The worst case: a frame in the other direction has just begun when the pause is due.
		for _, headroom := range []struct {
			name string
			size units.Bytes
		}{{"enough", tight}, {"less", tight - headroomFrame - 4}} {
			dropped, _, err := crossThreshold(l, headroom.size, crossed-1)
			if err != nil {
				return err
			}
			j.Value(headroom.name, float64(dropped))
		}
		j.Value("headroom", float64(tight))
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("lossless", r.Values("enough").Sum())
		r.Claim("tight", r.Values("less").Min())
	},
}

// headroomFrame is a frame with a payload of 4096 bytes, as in a Buf.
const headroomFrame = 4096 + 58

// crossThreshold lets a host send to another that accepts nothing, through a switch with this much
// headroom, and one frame in the other direction, which the switch begins to send at the time
// against. It returns the number of dropped frames, and when the threshold was crossed.
func crossThreshold(l fabric.Link, room units.Bytes, against units.Time) (dropped uint64,
	crossed units.Time, err error) {
	const xoff = 50_000
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Limit: xoff, Headroom: room}
	n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Buffer: 16 * units.MiB,
		Queues: qs.At()}}, 3, l)
	if err := n.Build(); err != nil {
		return 0, 0, err
	}
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: headroomFrame, Dst: 1}), nil)
	openloop.Put(n, n.Host(1), nil, nil)
	n.Host(1).NIC().Ports()[0].Storm(0, true)
	once := false
	openloop.Put(n, n.Host(2), func() (openloop.Frame, bool) {
		at := against.Add(-l.Rate.Duration(headroomFrame+outside) - l.Delay)
		defer func() { once = true }()
		return openloop.Frame{At: at, Len: headroomFrame, Dst: 0, DSCP: 8}, !once
	}, nil)
	out := n.Switches()[0].Ports()[1]
	out.Watch(0, func(now units.Time, length units.Bytes) {
		if length > xoff && crossed == 0 {
			crossed = now
		}
	})
	err = n.Run(units.Time(l.Rate.Duration(2*xoff) + 20*l.Delay + 100*units.Microsecond))
	return out.QueueStats(0).Dropped, crossed, err
}
