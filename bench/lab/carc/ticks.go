package carclab

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/fabric/hostmodel"
)

// variant is a scheme by the name that cells and figures have for it.
type variant struct {
	name string
	scheme
	ideal bool // a miss costs what a hit does: the line of theory
}

var (
	plainFIFO  = variant{name: "plain"}
	hostFIFO   = variant{name: "hostCC", scheme: scheme{hostCC: true}}
	hostLIFO   = variant{name: "hostCC, LIFO", scheme: scheme{hostCC: true, order: hostmodel.LIFO}}
	theoryFIFO = variant{name: "theory", ideal: true}
)

// carcOf is CARC with credits that responses return, or the receiver.
func carcOf(mode string, order hostmodel.Order) variant {
	v := variant{name: "CARC", scheme: scheme{carc: "mode=" + mode, order: order}}
	if order == hostmodel.LIFO {
		v.name += ", LIFO"
	}
	return v
}

// echo is a server whose threads each echo requests of 256 bytes, with so many ticks of processing: at no ticks the link
// is slower than the threads.
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
		mc := machine{cache: hostmodel.Xeon4309Y, link: 200 * gbps, ring: 4096}
		threads := experiment.At(j.Scale, 16, 4)
		if j.Scale == experiment.Small {
			mc.cache.Size /= 8
			mc.link /= 4
			mc.ring /= 2 // rings are a third larger than the cache, as at full scale
		}
		var loads []load
		for i := range threads {
			loads = append(loads, load{thread: i, packet: 256, answer: 256, ticks: e.Ticks, flow: 1})
		}
		m, err := newModel(mc.with(v), v.scheme, loads)
		if err != nil {
			return err
		}
		return m.measure(j, experiment.At(j.Scale, 25*ms, 15*ms), 15*ms)
	}
}

func pick(variants []variant, name string) variant {
	for _, v := range variants {
		if v.name == name {
			return v
		}
	}
	panic("carclab: no variant " + name)
}

// with is the machine as a variant has it.
func (mc machine) with(v variant) machine {
	mc.miss = lineMiss
	if v.ideal {
		mc.miss = lineHit
	}
	return mc
}

func ticksName(n int) string { return fmt.Sprintf("t%d", n) }

// echoFigures are throughput and misses by ticks.
func echoFigures(r *experiment.Results, variants ...variant) []figure.Figure {
	rate := figure.Lines("throughput", "256 B echo", "ticks per message", "throughput (Mpps)")
	miss := figure.Lines("misses", "256 B echo", "ticks per message", "reads that miss (%)")
	for _, v := range variants {
		var x, y, z []float64
		for _, n := range echoTicks(r.Scale) {
			c := r.Cell(echo{v.name, n}.String())
			x, y, z = append(x, float64(n)), append(y, c.Values("rate")[0]/1e6), append(z, 100*c.Values("miss")[0])
		}
		rate.Add(v.name, x, y)
		if !v.ideal {
			miss.Add(v.name, x, z)
		}
	}
	return []figure.Figure{rate, miss}
}
