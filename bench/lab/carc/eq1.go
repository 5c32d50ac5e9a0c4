package carclab

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/units"
)

// eq1: credits by formula 1, the example of footnote 4, and what is unconsumed when credits are not loosened.
var eq1 = &experiment.Experiment{
	ID:    "carc/eq1",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for _, n := range eq1Connections {
			j.Value(fmt.Sprintf("C n=%d", n), float64(carc.Credits(12*units.MiB, 64, n)))
		}
		j.Value("receives", float64(receiveSpace(16, 4096, 1500)))
		for _, mode := range []string{"rr", "oneway"} {
			for _, order := range []hostmodel.Order{hostmodel.FIFO, hostmodel.LIFO} {
				for _, ticks := range []int{0, 400, 2000} {
					mc := machine{cache: hostmodel.Xeon4309Y, link: 100 * gbps, ring: 4096, hit: lineHit, miss: lineMiss}
					mc.cache.Size /= 8 // a ring is twice the cache
					var loads []load
					for i := range 4 {
						loads = append(loads, load{thread: i, packet: 1024, answer: 32, ticks: ticks, flow: 1})
					}
					m, err := newModel(mc, scheme{carc: "delta=off,mode=" + mode, order: order}, loads)
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
			credits = credits.With(fmt.Sprintf("n%d", n), claims.Number(r.Values(fmt.Sprintf("C n=%d", n))[0]))
		}
		r.Claim("credits", credits)
		r.Claim("rq-size", r.Values("receives")[0])
		r.Claim("never-exceeds", r.Values("most").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "credits", Title: "Credits of a connection, 12 MiB in lines of 64 B", Header: []string{"connections", "lines", "KB"}}
		for _, n := range eq1Connections {
			c := r.Values(fmt.Sprintf("C n=%d", n))[0]
			t.Row(n, c, c*64/1e3)
		}
		p := figure.Lines("unconsumed", "Most that was unconsumed, 4 connections, 1024 B, delta off", "ticks per message", "part of the cache")
		for _, mode := range []string{"rr", "oneway"} {
			for _, order := range []hostmodel.Order{hostmodel.FIFO, hostmodel.LIFO} {
				name := fmt.Sprintf("%s, %v", mode, order)
				s := r.Series(name)
				p.Add(name, s.X, s.Y)
			}
		}
		return []figure.Figure{t, p}
	},
}

var eq1Connections = []int{16, 8, 1000}

// receiveSpace is RQs' size: what the receive queues of all threads point to.
func receiveSpace(threads, entries int, buffer units.Bytes) units.Bytes {
	return units.Bytes(threads*entries) * buffer
}
