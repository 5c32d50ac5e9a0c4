package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// echo is a server whose threads each echo requests of 256 bytes, with a number of ticks of
// processing: without ticks the link is slower than the threads.
type echo struct {
	Variant string
	Ticks   int
}

func (e echo) String() string { return fmt.Sprintf("%s %d ticks", e.Variant, e.Ticks) }

func echoTicks(s experiment.Scale) []int {
	return experiment.At(s, []int{0, 50, 100, 200, 400, 800, 1400, 2000}, []int{0, 200, 800, 2000})
}

func echoCells(variants ...variant) func(experiment.Scale) []experiment.Cell {
	return func(s experiment.Scale) (cells []experiment.Cell) {
		for _, v := range variants {
			for _, ticks := range echoTicks(s) {
				e := echo{v.name, ticks}
				cells = append(cells, experiment.Cell{Name: e.String(), Params: e})
			}
		}
		return cells
	}
}

// runEcho runs a cell of echoCells.
func runEcho(variants ...variant) func(*experiment.Job) error {
	return func(j *experiment.Job) error {
		e := j.Params.(echo)
		v := pick(variants, e.Variant)
		mc := serverAt(j.Scale)
		threads := experiment.At(j.Scale, 16, 4)
		if j.Scale == experiment.Small {
			mc.link /= 4
			mc.ring *= 4 // rings are a third larger than the cache, as at full scale
		}
		var loads []load
		for i := range threads {
			loads = append(loads, load{thread: i, packet: 256, answer: 256, ticks: e.Ticks,
				flow: 1})
		}
		m, err := newModel(mc.with(v), v.scheme, loads)
		if err != nil {
			return err
		}
		return m.measure(j, experiment.At(j.Scale, 25*ms, 15*ms), 15*ms)
	}
}

func ticksName(n int) string { return fmt.Sprintf("t%d", n) }

// echoFigures returns throughput and misses by ticks.
func echoFigures(r *experiment.Results, variants ...variant) []figure.Figure {
	rate := figure.Lines("throughput", "256 B echo", "ticks per message", "throughput (Mpps)")
	miss := figure.Lines("misses", "256 B echo", "ticks per message", "reads that miss (%)")
	for _, v := range variants {
		var x, y, z []float64
		for _, n := range echoTicks(r.Scale) {
			c := r.Cell(echo{v.name, n}.String())
			x, y, z = append(x, float64(n)), append(y, c.Values("rate")[0]/1e6), append(z,
				100*c.Values("miss")[0])
		}
		rate.Add(v.name, x, y)
		if !v.ideal {
			miss.Add(v.name, x, z)
		}
	}
	return []figure.Figure{rate, miss}
}
