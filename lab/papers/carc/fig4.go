package carclab

import (
	"fmt"

	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig4Rings are the sizes of receive queues of one-line buffers, in multiples of the cache.
var fig4Rings = []struct {
	name  string
	times int
	order hostmodel.Order
}{{"FIFO, L", 1, hostmodel.FIFO}, {"FIFO, 2L", 2, hostmodel.FIFO}, {"FIFO, 4L", 4, hostmodel.FIFO},
	{"LIFO, 4L", 4, hostmodel.LIFO}}

// fig4Backlogs are the amounts of unconsumed data, in parts of the cache.
var fig4Backlogs = []float64{0.06, 0.12, 0.15, 0.3, 0.45, 0.7, 0.97, 1.1, 1.5}

const fig4Lines = 16384

// fig4: misses by the amount of unconsumed data, and the states of a receiver that is slower than
// its sender.
var fig4 = &experiment.Experiment{
	ID:    "carc/fig4",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for _, ring := range fig4Rings {
			for _, u := range fig4Backlogs {
				if u > float64(ring.times) {
					continue
				}
				miss, err := steadyMisses(ring.times*fig4Lines, ring.order, int(u*fig4Lines))
				if err != nil {
					return err
				}
				j.Series(ring.name).Add(u, miss)
			}
		}
		return stopAndGo(j)
	},
	Judge: func(r *experiment.Results) {
		at := func(ring string, u float64) float64 {
			s := r.Series(ring)
			for i, x := range s.X {
				if x == u {
					return s.Y[i]
				}
			}
			panic("carclab: unknown backlog")
		}
		s1, s3 := 0., 1.
		for _, ring := range fig4Rings {
			s1 = max(s1, at(ring.name, 0.06))
			if ring.times > 1 {
				s3 = min(s3, at(ring.name, 1.5))
			}
		}
		r.Claim("s1", s1)
		r.Claim("s2-lifo", at("LIFO, 4L", 0.45))
		r.Claim("s2-fifo", at("FIFO, 4L", 0.45))
		r.Claim("s3", s3)
		r.Claim("s4-leaves", r.Values("left S4").Sum())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		miss := figure.Lines("misses", "A reader behind a writer, cache of 16 384 lines, 2 of 16 "+
			"ways the NIC's", "unconsumed (parts of the cache)", "reads that miss (%)")
		for _, ring := range fig4Rings {
			r.Series(ring.name).Scaled(1, 100).Draw(miss, ring.name)
		}
		state := figure.Steps("states", "Twice as fast as the reader, pauses of 1.2 receive queues",
			"time (ms)", "state S")
		r.Series("state").Scaled(1e3, 1).Draw(state, "state")
		t := &figure.Table{Name: "shares", Title: "The same",
			Header: []string{"state", "part of the time"}}
		for i := range 4 {
			t.Row(fmt.Sprintf("S%d", i+1), fmt.Sprintf("%.2f", r.Values("time")[i]))
		}
		return []figure.Figure{miss, state, t}
	},
}

// steadyMisses returns the part of reads that miss once all buffers were used, with a reader a
// number of lines behind its writer.
func steadyMisses(buffers int, o hostmodel.Order, backlog int) (float64, error) {
	h, err := hostmodel.New(hostmodel.Config{Cache: &sec4Cache})
	if err != nil {
		return 0, err
	}
	q, err := h.Queue(buffers, 64, o)
	if err != nil {
		return 0, err
	}
	for range backlog {
		q.Receive(64, 0)
	}
	lines := 2 * buffers
	var before hostmodel.CacheStats
	for n := range 2 * lines {
		if n == lines {
			before = h.Cache.Stats
		}
		q.Receive(64, 0)
		m, _ := q.Read()
		q.Release(m)
	}
	return h.Cache.Stats.Since(before).MissShare(), nil
}

// stopAndGo is a sender twice as fast as the reader. It pauses when no buffer is free, as it does
// under PFC, CNPs and RNR, for a fifth more than the reader takes for all buffers.
func stopAndGo(j *experiment.Job) error {
	h, err := hostmodel.New(hostmodel.Config{Cache: &sec4Cache})
	if err != nil {
		return err
	}
	const buffers = 2 * fig4Lines
	q, err := h.Queue(buffers, 64, hostmodel.FIFO)
	if err != nil {
		return err
	}
	const every, pause = lineHit, buffers * lineMiss * 12 / 10
	costs := hostmodel.Costs{Message: lineHit, Hit: lineHit, Miss: lineMiss}
	var arrives, reads units.Time
	state, since := hostmodel.S1, units.Time(0)
	var times [4]units.Duration
	series := j.Series("state")
	left, exhausted := 0, false
	series.Add(0, 1)
	for now := units.Time(0); now.Before(units.Time(20 * ms)); now = units.Earlier(arrives, reads) {
		if !arrives.After(now) {
			if arrives = now.Add(every); !q.Receive(64, 0) {
				arrives = now.Add(pause)
			}
		}
		if !reads.After(now) {
			reads = arrives
			if m, some := q.Read(); some {
				reads = now.Add(costs.Of(m))
				q.Release(m)
			}
		}
		if s := h.State(); s != state {
			exhausted = exhausted || s == hostmodel.S4
			if exhausted && s < hostmodel.S3 { // and does not alternate with each buffer
				exhausted = false
				left++
			}
			times[state] += now.Sub(since)
			// At its edges the state alternates with each line.
			if at := units.Duration(now).Seconds(); at-series.X[len(series.X)-1] > 10e-6 {
				series.Add(at, float64(s)+1)
			}
			state, since = s, now
		}
	}
	for _, d := range times {
		j.Value("time", d.Seconds()/20e-3)
	}
	j.Value("left S4", float64(left))
	return nil
}
