package carclab

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/units"
)

// variant is a scheme by the name that cells and figures have for it.
type variant struct {
	name string
	scheme
	ideal bool // a miss costs what a hit does: the line of theory
	// overlaps is how many lines a thread waits for at a time, 0 for one: what processors do with lines in a row.
	overlaps units.Duration
}

// eRPC's rings are FIFO. CARC's credits bound the receive buffers in use when the one that was freed last is used next.
var (
	plain      = variant{name: "plain"}
	hostCC     = variant{name: "hostCC", scheme: scheme{hostCC: true}}
	hostLIFO   = variant{name: "hostCC, LIFO", scheme: scheme{hostCC: true, order: hostmodel.LIFO}}
	hostFour   = variant{name: "hostCC, four lines at a time", scheme: scheme{hostCC: true}, overlaps: 4}
	withoutAny = variant{name: "theory", ideal: true}
)

// carcOf is CARC with credits that responses return (rr), or the receiver (oneway).
func carcOf(mode string) variant {
	return variant{name: "CARC", scheme: scheme{carc: "mode=" + mode, order: hostmodel.LIFO}}
}

// inFIFO is the same with eRPC's rings.
func (v variant) inFIFO() variant {
	v.name += ", FIFO"
	v.order = hostmodel.FIFO
	return v
}

// four is the same where a thread waits for four lines at a time.
func (v variant) four() variant {
	v.name += ", four lines at a time"
	v.overlaps = 4
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
		mc := serverAt(j.Scale)
		threads := experiment.At(j.Scale, 16, 4)
		if j.Scale == experiment.Small {
			mc.link /= 4
			mc.ring *= 4 // rings are a third larger than the cache, as at full scale
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

// serverAt is the testbed's server, at small scale with an eighth of the cache and of the rings.
func serverAt(s experiment.Scale) machine {
	mc := machine{cache: hostmodel.Xeon4309Y, link: 200 * gbps, ring: 4096}
	if s == experiment.Small {
		mc.cache.Size /= 8
		mc.ring /= 8
	}
	return mc
}

// with is the machine as a variant has it.
func (mc machine) with(v variant) machine {
	mc.hit, mc.miss = lineHit/max(1, v.overlaps), lineMiss/max(1, v.overlaps)
	if v.ideal {
		mc.miss = mc.hit
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
