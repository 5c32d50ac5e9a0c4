package prioplus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// plainCell is a peer that acknowledges at most each n-th packet of a full link, with delays up to
// Noise µs late, and channels that tolerate B µs.
type plainCell struct {
	Packets  int
	Noise, B float64
}

func (c plainCell) name() string {
	return fmt.Sprintf("%d packets %gus B=%gus", c.Packets, c.Noise, c.B)
}

// coalesce returns how long the peer collects packets.
func (c plainCell) coalesce() units.Duration {
	return units.Duration(c.Packets-1) * testbedRate.Duration(packet)
}

// needed returns the B that the peer's noise requires: the 99.85th percentile of the lateness of a
// delay, and of the wait of an ACK for the packets with which it is collected.
func (c plainCell) needed() float64 {
	return 0.9985*c.Noise + c.coalesce().Microseconds() + 0.3
}

func plainTolerated(s experiment.Scale) []float64 {
	return experiment.At(s, []float64{0.2, 0.4, 0.8, 1.6, 3.2, 4.8, 6.4, 9.6, 12.8, 19.2, 25.6},
		nil)
}

func plainPackets(s experiment.Scale) []int { return experiment.At(s, []int{1, 4, 16}, []int{4}) }

func plainNoises(s experiment.Scale) []float64 {
	return experiment.At(s, []float64{0, 5}, []float64{0})
}

// plainPeer: virtual priority toward a peer without the extension, as in figure 8a.
var plainPeer = &experiment.Experiment{
	ID: "beyond/vprio-plain-peer",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, packets := range plainPackets(s) {
			for _, noise := range plainNoises(s) {
				c := plainCell{Packets: packets, Noise: noise}
				for _, c.B = range append(plainTolerated(s), c.needed()) {
					cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
				}
			}
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(plainCell)
		config := testbed(j.Seed, 28*units.Millisecond)
		config.Plain, config.Coalesce = true, c.coalesce()
		config.Noise = func(random *rand.Rand) units.Duration {
			return units.Duration(random.Float64() * c.Noise * float64(units.Microsecond))
		}
		table := fmt.Sprintf("%s,b=%gus,eps=%gus", testbedTable, c.B, max(1, c.B))
		run := testbedStairs(func(p int) (cc.Factory, error) {
			return virtual(table, p, testbedWAI)
		})
		r, err := run.play(j, config)
		if err != nil {
			return err
		}
		j.Value("foreign", float64(r.Foreign))
		return nil
	},
	Judge: func(r *experiment.Results) {
		foreign := 0.0
		strict := experiment.Keyed{}
		for _, c := range r.Cells() {
			foreign += c.Values("foreign").Max()
		}
		r.Claim("plain-wire", foreign)
		for _, p := range fig8aStairs.priorities[1:] {
			least := math.Inf(1)
			for _, packets := range plainPackets(r.Scale) {
				for _, noise := range plainNoises(r.Scale) {
					c := plainCell{Packets: packets, Noise: noise}
					c.B = c.needed()
					least = min(least, r.Cell(c.name()).Values(class(p)+" settled").Mean())
				}
			}
			strict = strict.With(fmt.Sprint(p), least)
		}
		r.Claim("strict", strict)
		r.Note("strict", "the least of all peers; B is the lateness of their delays, and 0.3 µs. "+
			"Toward one that acknowledges each 4 packets all have it. Toward one that "+
			"acknowledges each 16, a flow gets feedback too rarely: delays that stop it arrive "+
			"in batches, and channels wide enough for that hand over in more than a step")
		r.Note("data-intact", "there is no memory beside the regions here: `make interop "+
			"RUN=^probe/` compares all of a soft-RoCE server's memory")
		if r.Scale == experiment.Full {
			var widths []claims.Value
			for _, packets := range plainPackets(r.Scale) {
				widths = append(widths, claims.Point(float64(packets), plainWidth(r, packets, 5)))
			}
			r.Claim("width-follows-noise", claims.List(widths...))
			r.Note("width-follows-noise", "the least A+B with which each higher priority has "+
				"0.85 of the link, A 3.2 µs and delays up to 5 µs late; %.1f, %.1f and %.1f µs "+
				"without that. Toward a peer that acknowledges each 16 packets there is none; "+
				"much wider ones hand over too slowly toward any peer",
				plainWidth(r, 1, 0), plainWidth(r, 4, 0), plainWidth(r, 16, 0))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("share", "Least share of a higher priority, toward a plain peer",
			"B (µs)", "part of what is through")
		for _, packets := range plainPackets(r.Scale) {
			for _, noise := range plainNoises(r.Scale) {
				var x, y []float64
				tolerated := append(plainTolerated(r.Scale), plainCell{packets, noise, 0}.needed())
				slices.Sort(tolerated)
				for _, b := range tolerated {
					x, y = append(x, b), append(y, plainShare(r, plainCell{packets, noise, b}))
				}
				p.Add(fmt.Sprintf("an ACK for %d, noise %g µs", packets, noise), x, y)
			}
		}
		return []figure.Figure{p}
	},
}

// plainShare returns the least share of a higher priority.
func plainShare(r *experiment.Results, c plainCell) float64 {
	least := math.Inf(1)
	for _, p := range fig8aStairs.priorities[1:] {
		least = min(least, r.Cell(c.name()).Values(class(p)+" settled").Mean())
	}
	return least
}

// plainWidth returns the least A+B, in µs, that keeps priorities strict.
func plainWidth(r *experiment.Results, packets int, noise float64) float64 {
	for _, b := range plainTolerated(r.Scale) {
		if plainShare(r, plainCell{packets, noise, b}) >= 0.85 {
			return 3.2 + b
		}
	}
	return math.Inf(1)
}
