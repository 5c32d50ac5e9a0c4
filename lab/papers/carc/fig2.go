package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// incoming is a server of sixteen threads to which a number of connections send flows of 7.9 MB,
// one way. Threads copy them into message buffers, as eRPC does.
type incoming struct {
	Variant     string
	Connections int
}

func (i incoming) String() string { return fmt.Sprintf("%s n=%d", i.Variant, i.Connections) }

const fig2Threads = 16

func fig2Connections(s experiment.Scale) []int {
	return experiment.At(s, []int{1, 2, 4, 8, 16, 32}, []int{1, 4, 16})
}

var fig2Variants = []variant{plain, hostCC, hostFour}

// fig2: hostCC does not remove congestion between NIC and processor.
var fig2 = &experiment.Experiment{
	ID:    "carc/fig2",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, v := range fig2Variants {
			for _, n := range fig2Connections(s) {
				i := incoming{v.name, n}
				cells = append(cells, experiment.Cell{Name: i.String(), Params: i})
			}
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		i := j.Params.(incoming)
		v := pick(fig2Variants, i.Variant)
		flow := experiment.At(j.Scale, longPackets, longPackets/8)
		var loads []load
		for n := range i.Connections {
			loads = append(loads, load{thread: n % fig2Threads, packet: longPacket, answer: 32,
				flow: flow, oneWay: true, copies: true})
		}
		m, err := newModel(serverAt(j.Scale).with(v), v.scheme, loads)
		if err != nil {
			return err
		}
		return m.measure(j, experiment.At(j.Scale, 20*ms, 4*ms),
			experiment.At(j.Scale, 20*ms, 4*ms))
	},
	Judge: func(r *experiment.Results) {
		ns := fig2Connections(r.Scale)
		falls := experiment.Keyed{}
		// fall returns the ratio of the fewest connections to the most, among those with which
		// threads are busy.
		fall := func(v variant) float64 {
			rates := fig2Rates(r, v)
			most := len(ns) - 1
			for most > 0 && r.Cell(incoming{v.name, ns[most]}.String()).Values("idle")[0] > 0.05 {
				most--
			}
			return rates[0] / rates[most]
		}
		for _, v := range []variant{plain, hostCC} {
			falls = falls.With(v.name, fall(v))
		}
		r.Claim("degrades", falls)
		r.Note("degrades", "a thread waits for each line of a packet, 20 or 90 ns; if it waits "+
			"for four at a time, as processors do with lines in a row, the fall is %.2f. And "+
			"with one connection nothing misses, because a ring and a message of 7.9 MB just fit "+
			"an otherwise empty cache",
			fall(hostFour))
		most := len(ns) - 1
		r.Claim("hostcc-no-cure", fig2Rates(r, hostCC)[most]/fig2Rates(r, plain)[most])
		r.Note("hostcc-no-cure", "hostCC marked %.3f of packets: its I/O controller holds fewer "+
			"lines than its threshold, because memory has bandwidth to spare; hostCC does not "+
			"see that lines are evicted",
			r.Cell(incoming{hostCC.name, ns[most]}.String()).Values("marked")[0])
		r.Claim("misses-remain", r.Cell(incoming{hostCC.name, ns[most]}.String()).Values("miss")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		rate := figure.Lines("throughput", "7.9 MB one way, 16 threads", "connections",
			"throughput of a thread (Gb/s)")
		miss := figure.Lines("misses", "7.9 MB one way, 16 threads", "connections",
			"reads that miss (%)")
		for _, v := range fig2Variants {
			var x, z []float64
			for _, n := range fig2Connections(r.Scale) {
				x = append(x, float64(n))
				z = append(z, 100*r.Cell(incoming{v.name, n}.String()).Values("miss")[0])
			}
			rate.Add(v.name, x, fig2Rates(r, v))
			miss.Add(v.name, x, z)
		}
		return []figure.Figure{rate, miss, statesTable(r)}
	},
}

// fig2Rates returns Gb/s of a thread that has connections, by their number.
func fig2Rates(r *experiment.Results, v variant) (gbps []float64) {
	for _, n := range fig2Connections(r.Scale) {
		rate := r.Cell(incoming{v.name, n}.String()).Values("rate")[0]
		gbps = append(gbps, rate*8*float64(longPacket)/1e9/float64(min(n, fig2Threads)))
	}
	return gbps
}
