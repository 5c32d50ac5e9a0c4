package carclab

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// eq1: credits by formula 1, the example of footnote 4, and unconsumed data when credits do not
// grow with delta.
var eq1 = &experiment.Experiment{
	ID:    "carc/eq1",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for _, n := range eq1Connections {
			c, err := creditsOf(n)
			if err != nil {
				return err
			}
			j.Value(fmt.Sprintf("C n=%d", n), float64(c))
		}
		j.Value("receives", float64(receiveSpace(16, 4096, 1500)))
		for _, mode := range []string{"rr", "oneway"} {
			for _, order := range []hostmodel.Order{hostmodel.FIFO, hostmodel.LIFO} {
				for _, ticks := range []int{0, 400, 2000} {
					mc := machine{cache: hostmodel.Xeon4309Y, link: 100 * gbps, ring: 4096,
						hit: lineHit, miss: lineMiss}
					mc.cache.Size /= 8 // a ring is twice the cache
					var loads []load
					for i := range 4 {
						loads = append(loads, load{thread: i, packet: 1024, answer: 32,
							ticks: ticks, flow: 1})
					}
					m, err := newModel(mc, scheme{carc: "delta=off,mode=" + mode, order: order},
						loads)
					if err != nil {
						return err
					}
					if err := m.run(j.Context(), 5*ms); err != nil {
						return err
					}
					s := j.Series(fmt.Sprintf("%s, %v", mode, order))
					s.Add(float64(ticks), float64(m.most)/float64(mc.cache.Size))
					j.Value("most", float64(m.most)/float64(mc.cache.Size))
				}
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		credits := claims.Value{}
		for _, n := range eq1Connections {
			credits = credits.With(fmt.Sprintf("n%d", n),
				claims.Number(r.Values(fmt.Sprintf("C n=%d", n))[0]))
		}
		r.Claim("credits", credits)
		r.Note("credits", "of connections that are open when the first credits are announced. "+
			"When their number changes later, a pool counts four significant bits of it, "+
			"rounded up, so that a new connection does not always shrink all others: 1001 have "+
			"what 1024 had")
		r.Claim("rq-size", r.Values("receives")[0])
		r.Claim("never-exceeds", r.Values("most").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "credits",
			Title:  "Credits of a connection, 12 MiB in lines of 64 B",
			Header: []string{"connections", "lines", "KB"}}
		for _, n := range eq1Connections {
			c := r.Values(fmt.Sprintf("C n=%d", n))[0]
			t.Row(n, c, c*64/1e3)
		}
		p := figure.Lines("unconsumed",
			"Most that was unconsumed, 4 connections, 1024 B, delta off", "ticks per message",
			"part of the cache")
		for _, mode := range []string{"rr", "oneway"} {
			for _, order := range []hostmodel.Order{hostmodel.FIFO, hostmodel.LIFO} {
				name := fmt.Sprintf("%s, %v", mode, order)
				r.Series(name).Draw(p, name)
			}
		}
		return []figure.Figure{t, p}
	},
}

// creditsOf returns the credits of each of n connections to the paper's machine, when all are open.
func creditsOf(n int) (carc.Lines, error) {
	spec, err := carc.Parse("llc=12MiB,line=64,delta=off")
	if err != nil {
		return 0, err
	}
	pool := spec.Endpoint()
	all := make([]*carc.Granter, n)
	for i := range all {
		if _, all[i], err = pool.New(cc.Path{LineRate: 200 * gbps, BaseRTT: 10 * units.Microsecond,
			Payload: 1024}); err != nil {
			return 0, err
		}
		all[i].Attach(nobody{})
	}
	for spoken := true; spoken; {
		spoken = false
		for _, g := range all {
			_, some := g.Emit(false, 1)
			spoken = spoken || some
		}
	}
	return all[0].Credits(), nil
}

var eq1Connections = []int{16, 8, 1000}

// receiveSpace returns the size of RQs: the space of the receive queues of all threads.
func receiveSpace(threads, entries int, buffer units.Bytes) units.Bytes {
	return units.Bytes(threads*entries) * buffer
}
