package carclab

import (
	"fmt"

	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig3Steps are the figure's steps with eight buffers of a line each: the NIC writes a number of
// them, then the program reads a number.
var fig3Steps = []struct {
	name          string
	writes, reads int
}{{"1: DMA to 0-7", 8, 0}, {"2: read 0-3", 0, 4}, {"3: DMA to 0-3", 4, 0}, {"4: read 4-7", 0, 4}}

// fig3: the paper's example of replacement, in a cache of one set of five ways, two of them the
// NIC's.
var fig3 = &experiment.Experiment{
	ID:    "carc/fig3",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		h, err := hostmodel.New(hostmodel.Config{Cache: &hostmodel.CacheConfig{Size: 5 * 64,
			Ways: 5, DDIO: 2}})
		if err != nil {
			return err
		}
		q, err := h.Queue(8, 64, hostmodel.FIFO)
		if err != nil {
			return err
		}
		for _, s := range fig3Steps {
			before := h.Cache.Stats
			for range s.writes {
				q.Receive(64, 0)
			}
			for range s.reads {
				m, _ := q.Read()
				q.Release(m)
			}
			now := h.Cache.Stats.Since(before)
			j.Value("allocated", float64(now.Allocated))
			j.Value("reads", float64(now.Reads))
			j.Value("misses", float64(now.Missed))
			j.Value("nic", float64(now.EvictedByNIC))
			j.Value("cpu", float64(now.EvictedByCPU))
			for l := range hostmodel.Line(8) {
				if h.Cache.Holds(l) {
					j.Value("holds "+s.name, float64(l))
				}
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("evictions", experiment.Each([]string{"reads", "misses", "nic", "cpu"},
			func(name string) float64 { return r.Values(name).Sum() }))
		r.Claim("no-alloc", r.Values("allocated")[2])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "steps",
			Title: "One set of 5 ways, 2 of them DDIO's, 8 buffers of a line",
			Header: []string{"step", "allocated", "misses", "useful evicted by NIC", "by CPU",
				"cache holds"}}
		for i, s := range fig3Steps {
			t.Row(s.name, r.Values("allocated")[i], r.Values("misses")[i], r.Values("nic")[i],
				r.Values("cpu")[i], fmt.Sprint(r.Values("holds "+s.name)))
		}
		return []figure.Figure{t}
	},
}
