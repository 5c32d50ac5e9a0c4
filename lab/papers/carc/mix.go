package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// mix is a server some of whose threads respond to requests of 72 bytes, while others take flows of
// 7.9 MB, which they copy into a message buffer, both with responses of 32 bytes.
type mix struct {
	Variant string
	Long    int // threads
}

func (x mix) String() string { return fmt.Sprintf("%s long=%d", x.Variant, x.Long) }

// A flow of 7.9 MB in packets of eRPC's MTU.
const (
	longPacket  units.Bytes = 1024
	longPackets             = 7_900_000/int(longPacket) + 1
)

// Classes of a mix's loads.
const (
	short = iota
	long
)

func mixLongs(s experiment.Scale) []int {
	return experiment.At(s, []int{0, 1, 2, 4, 6, 8}, []int{0, 1, 2, 4})
}

// mixShorts is the number of threads with short requests.
func mixShorts(s experiment.Scale) int { return experiment.At(s, 8, 4) }

// mixRatio returns threads with short requests to threads with flows, as the paper writes it.
func mixRatio(s experiment.Scale, longs int) string {
	return fmt.Sprintf("%d:%d", mixShorts(s), longs)
}

func mixCells(longs func(experiment.Scale) []int,
	variants ...variant) func(experiment.Scale) []experiment.Cell {
	return func(s experiment.Scale) (cells []experiment.Cell) {
		for _, v := range variants {
			for _, n := range longs(s) {
				x := mix{v.name, n}
				cells = append(cells, experiment.Cell{Name: x.String(), Params: x})
			}
		}
		return cells
	}
}

// runMix runs a cell of mixCells for a time, at small scale for an eighth of it.
func runMix(time units.Duration, variants ...variant) func(*experiment.Job) error {
	return func(j *experiment.Job) error {
		x := j.Params.(mix)
		v := pick(variants, x.Variant)
		mc := serverAt(j.Scale)
		mc.link = experiment.At(j.Scale, mc.link, mc.link/2)
		flow := experiment.At(j.Scale, longPackets, longPackets/8)
		shorts := mixShorts(j.Scale)
		var loads []load
		for i := range shorts {
			loads = append(loads, load{thread: i, packet: 72, answer: 32, flow: 1, class: short})
		}
		for i := range x.Long {
			loads = append(loads, load{thread: shorts + i, packet: longPacket, answer: 32,
				flow: flow, class: long, copies: true})
		}
		m, err := newModel(mc.with(v), v.scheme, loads)
		if err != nil {
			return err
		}
		return m.measure(j, experiment.At(j.Scale, 25*ms, 10*ms),
			experiment.At(j.Scale, time, time/8))
	}
}

// mixAt returns the results of a variant with a number of long threads.
func mixAt(r *experiment.Results, v variant, longs int) experiment.Pool {
	return r.Cell(mix{Variant: v.name, Long: longs}.String())
}

// perCore returns Gb/s of a thread with flows.
func perCore(r *experiment.Results, v variant, longs int) float64 {
	return mixAt(r, v, longs).Values("long rate")[0] * 8 * float64(longPacket) / 1e9 /
		float64(longs)
}

// mixFigures returns throughput and misses by long threads.
func mixFigures(r *experiment.Results, longs []int, variants ...variant) []figure.Figure {
	shortRate := figure.Lines("short", "72 B requests", "threads with 7.9 MB flows",
		"throughput (Mpps)")
	longRate := figure.Lines("long", "7.9 MB flows", "threads with them",
		"throughput of a thread (Gb/s)")
	miss := figure.Lines("misses", "Reads that miss", "threads with 7.9 MB flows",
		"reads that miss (%)")
	for _, v := range variants {
		var x, y, z, lx, ly, lz []float64
		for _, n := range longs {
			c := mixAt(r, v, n)
			x, y, z = append(x, float64(n)), append(y, c.Values("rate")[0]/1e6), append(z,
				100*c.Values("miss")[0])
			if n > 0 {
				lx, ly, lz = append(lx, float64(n)), append(ly, perCore(r, v, n)), append(lz,
					100*c.Values("long miss")[0])
			}
		}
		shortRate.Add(v.name, x, y)
		longRate.Add(v.name, lx, ly)
		miss.Add(v.name+", short", x, z)
		miss.Add(v.name+", long", lx, lz)
	}
	return []figure.Figure{shortRate, longRate, miss, statesTable(r)}
}

// mixTime is the measured time of figures 5b, 5c and 8b.
const mixTime = 15 * ms

var (
	carcMix     = carcOf("oneway")
	mixVariants = []variant{hostCC, carcMix, hostLIFO, carcMix.inFIFO()}
)
