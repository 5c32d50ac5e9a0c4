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

// fig2Late is how late threads begin to read. With 16 threads on a full link a server that has
// never been behind keeps up, since all it reads hits, and one that fell behind once never catches
// up, since all misses. On a machine threads are interrupted for longer than this.
const fig2Late = 500 * us

func fig2Connections(s experiment.Scale) []int {
	return experiment.At(s, []int{1, 2, 4, 8, 16, 32}, []int{1, 4, 16})
}

// A ring and the message of one connection, 11.5 MiB, fit an otherwise empty cache. On a machine it
// also holds completion and work queues, and the transport's and the kernel's state.
var (
	plainOthers   = variant{name: "plain, 11 of 12 ways", others: true}
	plainConstant = variant{name: "plain, constant latency", constant: true}
	fig2Variants  = []variant{plain, hostCC, host140, host70, plainOthers, plainConstant,
		hostCC.alone()}
)

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
		mc := serverAt(j.Scale).with(v)
		mc.late = fig2Late
		m, err := newModel(mc, v.scheme, loads)
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
		r.Note("degrades", "a ring and a message of 7.9 MB just fit an otherwise empty cache, so "+
			"that nothing of one connection misses; with other lines in one of 12 ways the fall "+
			"is %.2f. And the latency of memory, which grows with the load as table 1's times "+
			"need, doubles; with a constant one it is %.2f. If a thread also waits for each line "+
			"alone, it is %.2f", fall(plainOthers), fall(plainConstant), fall(hostCC.alone()))
		most := len(ns) - 1
		rate := func(v variant) float64 { return fig2Rates(r, v)[most] / fig2Rates(r, plain)[most] }
		marked := func(v variant) float64 {
			return r.Cell(incoming{v.name, ns[most]}.String()).Values("marked")[0]
		}
		if marked(hostCC) > 0 { // else it is plain against itself
			r.Claim("hostcc-no-cure", rate(hostCC))
		}
		r.Note("hostcc-no-cure", "hostCC marked %.2f of packets. With I_T = 140, the module's "+
			"threshold at twice its rate, it marked %.3f, and the throughput is %.2f of plain's: "+
			"lines that were evicted do not fill the I/O controller. With I_T = 70, which an idle "+
			"host exceeds at the full rate, it marked %.2f, and the throughput is %.2f",
			marked(hostCC), marked(host140), rate(host140), marked(host70), rate(host70))
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
