package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// weightedCell is classes with weights in one channel, a number of flows of each, and whether a
// class of the next channel joins them.
type weightedCell struct {
	Weights []float64
	Flows   []int
	Above   bool
}

func (c weightedCell) name() string {
	name := fmt.Sprintf("weights %v flows %v", c.Weights, c.Flows)
	if c.Above {
		name += " below a channel"
	}
	return name
}

func weightedCells(s experiment.Scale) []weightedCell {
	if s == experiment.Small {
		return []weightedCell{
			{[]float64{1, 4}, []int{4, 4}, false}, {[]float64{1, 4}, []int{20, 2}, false},
			{[]float64{1, 4}, []int{4, 4}, true},
		}
	}
	return []weightedCell{
		{[]float64{1, 2, 4}, []int{4, 4, 4}, false}, {[]float64{1, 2, 4}, []int{100, 10, 1}, false},
		{[]float64{1, 2, 4}, []int{4, 4, 4}, true},
		{[]float64{1, 4}, []int{4, 4}, false}, {[]float64{1, 2, 3, 4}, []int{4, 4, 4, 4}, false},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, []int{4, 4, 4, 4, 4, 4, 4, 4}, false},
	}
}

// weightedAI is the sum of what all flows add to their windows in a round trip, in packets. All
// Swift flows are cut alike, so their windows are in proportion to what each adds; each adds its
// class's part of this, divided by the flows of the class. A larger sum converges sooner; but three
// packets let the delay swing by half a microsecond at 100 Gb/s, ten by 1.6, and with noise in
// addition some flow exceeds D_limit.
func weightedAI(s experiment.Scale) float64 { return experiment.At(s, 3., 0.3) }

// weightedTable gives a flow its part of the starts, too: W_LS, of which all flows together have a
// quarter of a BDP. More would stop them at the start, and #flow, which assumes equal windows,
// would then change the weights of W_AI.
func weightedTable(part float64) string {
	return fmt.Sprintf("n=8,high=0,low=1,direct=0,w_low=%gBDP", part/4)
}

// weighted: classes of one channel that share it by weights, an idea of ours for section 7. A flow
// needs the number of flows of its class.
var weighted = &experiment.Experiment{
	ID: "beyond/weighted-vprio",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, c := range weightedCells(s) {
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(weightedCell)
		config := noisyMicro(j.Seed, 20*units.Millisecond)
		config.Rate = experiment.At[units.BitRate](j.Scale, rate, 10*units.Gbps)
		sum := 0.0
		for _, w := range c.Weights {
			sum += w
		}
		const priority, above = 3, 4
		var flows []sim.Flow
		for i, w := range c.Weights {
			part := w / sum / float64(c.Flows[i])
			control, err := virtual(weightedTable(part), priority, part*weightedAI(j.Scale))
			if err != nil {
				return err
			}
			flows = append(flows, sim.Many(c.Flows[i], sim.Flow{Control: control})...)
		}
		weighted := len(flows)
		if c.Above {
			control, err := virtual(weightedTable(1./4), above, weightedAI(j.Scale)/4)
			if err != nil {
				return err
			}
			flows = append(flows,
				sim.Many(4, sim.Flow{Start: config.Until / 2, Control: control})...)
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		all := binsOf(bin, r.Traces)
		j.Value("util", all.mean(units.Millisecond, config.Until)/config.Capacity())
		j.Value("above", binsOf(bin, r.Traces[weighted:]).share(all, config.Until*3/4,
			config.Until))
		at := 0
		for i, w := range c.Weights {
			b := binsOf(bin, r.Traces[at:at+c.Flows[i]])
			at += c.Flows[i]
			j.Value("share", b.share(all, config.Until/2, config.Until)/(w/sum))
			b.keep(j, fmt.Sprintf("weight %g", w))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		cells := weightedCells(r.Scale)
		equal, unequal, above := cells[0], cells[1], cells[2]
		shares := claims.Value{}
		for i, share := range meanShares(r, equal) {
			shares = shares.With(fmt.Sprintf("weight %g", equal.Weights[i]), claims.Number(share))
		}
		r.Claim("weights", shares)
		r.Claim("no-inversion", meanShares(r, unequal)[len(unequal.Weights)-1])
		if r.Scale == experiment.Small {
			const few = "at 10 Gb/s a channel holds some 20 packets: flows with windows of one " +
				"or two of them, in whole packets, stop a dozen times and estimate #flow as 20"
			r.Note("weights", few)
			r.Note("no-inversion", few)
		} else {
			r.Note("weights", "W_LS and W_AI of a flow are the weight of its class over the "+
				"number of the class's flows, which is a parameter. They are so small that no "+
				"flow stops: #flow assumes equal windows, and after a stop distorts W_AI "+
				"permanently. Of eight classes %.2f to %.2f; the least has windows of less than "+
				"two packets, of which one is in flight", slices.Min(meanShares(r, cells[5])),
				slices.Max(meanShares(r, cells[5])))
			shares := meanShares(r, unequal)
			r.Note("no-inversion", "the highest class, a single flow, has its share, the others "+
				"do not: 100 flows have %.2f and 10 have %.2f of theirs. A hundred that begin at "+
				"once do stop, and the ten with them: #flow of 44, windows of less than a "+
				"packet", shares[0], shares[1])
		}
		r.Claim("strict-between", r.Cell(above.name()).Values("above").Min())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var figures []figure.Figure
		for i, c := range weightedCells(r.Scale) {
			p := figure.Lines(fmt.Sprintf("goodput-%d", i+1), c.name(), "time (ms)",
				"goodput (Gb/s)")
			for _, w := range c.Weights {
				name := fmt.Sprintf("weight %g", w)
				r.Cell(c.name()).Seeds()[0].Series(name).Scaled(1e3, 1e-9).Draw(p, name)
			}
			figures = append(figures, p)
		}
		table := &figure.Table{Name: "shares",
			Title: "Share of each class over what its weight asks for", Header: []string{"classes",
				"shares"}}
		for _, c := range weightedCells(r.Scale) {
			if !c.Above {
				table.Row(c.name(), fmt.Sprintf("%.2f", meanShares(r, c)))
			}
		}
		return append(figures, table)
	},
}

// meanShares returns the share of each class over the share of its weight, the mean over seeds.
func meanShares(r *experiment.Results, c weightedCell) []float64 {
	shares := make([]float64, len(c.Weights))
	seeds := r.Cell(c.name()).Seeds()
	for _, seed := range seeds {
		for i, v := range seed.Values("share") {
			shares[i] += v / float64(len(seeds))
		}
	}
	return shares
}
