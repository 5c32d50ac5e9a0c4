package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// marks are the thresholds of classes of DCTCP in one queue, the lowest class first.
type marks struct {
	Name string
	K    []units.Bytes
}

func perClassCells(s experiment.Scale) []marks {
	return experiment.At(s,
		[]marks{{"distinct", []units.Bytes{50_000, 150_000, 300_000}},
			{"one", []units.Bytes{150_000, 150_000, 150_000}}},
		// of 10 Gb/s
		[]marks{{"distinct", []units.Bytes{5_000, 30_000}}, {"one", []units.Bytes{15_000, 15_000}}})
}

// perClassECN: classes of DCTCP in one queue of a switch that marks each at its own queue length,
// by DSCP (appendix B), beside a switch that marks all alike. Only the switch needs the change, not
// the hosts.
var perClassECN = &experiment.Experiment{
	ID: "beyond/prioplus-ecn",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, m := range perClassCells(s) {
			cells = append(cells, experiment.Cell{Name: m.Name, Params: m})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		const (
			flows = 10
			step  = 5 * units.Millisecond
		)
		k := j.Params.(marks).K
		control, err := cc.Parse("dctcp")
		if err != nil {
			return err
		}
		config := micro(j.Seed, units.Duration(len(k))*step)
		config.Rate, config.Interval = experiment.At[units.BitRate](j.Scale, rate, 10*units.Gbps),
			bin
		config.ECNOf = map[uint8]fabric.ECN{}
		var all []sim.Flow
		for i, threshold := range k {
			config.ECNOf[uint8(i)] = fabric.ECN{Kmin: threshold, Kmax: threshold, Pmax: 1}
			all = append(all,
				sim.Many(flows, sim.Flow{Start: units.Duration(i) * step, DSCP: uint8(i),
					Control: control})...)
		}
		r, err := config.Run(j.Context(), all)
		if err != nil {
			return err
		}
		total := binsOf(bin, r.Traces)
		for i := range k {
			b := binsOf(bin, r.Traces[i*flows:(i+1)*flows])
			b.keep(j, fmt.Sprintf("class %d", i))
			if i > 0 { // it is the highest in its interval
				end := units.Duration(i+1) * step
				j.Value("lower", 1-b.share(total, end-step/2, end))
			}
			if i == len(k)-1 {
				j.Value("top", b.share(total, config.Until-step/2, config.Until))
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		distinct, one := r.Cell("distinct"), r.Cell("one")
		r.Claim("better-than-shared", distinct.Values("top").Mean()-one.Values("top").Mean())
		if r.Scale == experiment.Small {
			r.Note("better-than-shared", "twenty flows at their minimum windows, two packets "+
				"each, keep a queue of 25 packets at 10 Gb/s: always above the lower threshold, "+
				"and close to the higher one")
		}
		r.Claim("not-strict", distinct.Values("lower").Min())
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		for _, c := range r.Cells() {
			p := figure.Lines("goodput-"+c.Name,
				"Classes of DCTCP in one queue, thresholds "+c.Name, "time (ms)", "goodput (Gb/s)")
			for i, k := range perClassCells(r.Scale)[0].K {
				if c.Name == "one" {
					k = perClassCells(r.Scale)[1].K[i]
				}
				c.Seeds()[0].Series(fmt.Sprintf("class %d", i)).Scaled(1e3, 1e-9).Draw(p,
					fmt.Sprintf("K = %d KB", int64(k)/1000))
			}
			figures = append(figures, p)
		}
		return figures
	},
}
