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

// foreign is a set of flows without virtual priority in the queue of others that have one.
type foreign struct {
	Algorithm string
	Flows     int
}

func (f foreign) name() string {
	if f.Flows == 0 {
		return "none"
	}
	return fmt.Sprintf("%d %s", f.Flows, f.Algorithm)
}

// lateMarks is dcqcn with thresholds beyond all channels.
const lateMarks = "dcqcn, marked late"

var foreigns = []foreign{{}, {"swift", 1}, {"swift", 4}, {"dcqcn", 1}, {"dcqcn", 4}, {lateMarks, 1}}

// mixedQueue: virtual priorities when not all flows of the queue have one (appendix B).
var mixedQueue = &experiment.Experiment{
	ID: "beyond/vprio-mixed-queue",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, f := range foreigns {
			cells = append(cells, experiment.Cell{Name: f.name(), Params: f})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		f := j.Params.(foreign)
		config := noisyMicro(j.Seed, 10*units.Millisecond)
		config.Rate = experiment.At[units.BitRate](j.Scale, rate, 10*units.Gbps)
		slower := rate / config.Rate // thresholds are for 100 Gb/s
		config.ECN = fabric.ECN{Kmin: 100_000 / units.Bytes(slower),
			Kmax: 400_000 / units.Bytes(slower), Pmax: 0.2}
		if f.Algorithm == lateMarks {
			config.ECN.Kmin, config.ECN.Kmax = 5*config.ECN.Kmin, 5*config.ECN.Kmax
		}
		ai := experiment.At(j.Scale, wai, testbedWAI)
		var flows []sim.Flow
		for _, p := range []int{2, 5} {
			control, err := virtual("n=8", p, ai)
			if err != nil {
				return err
			}
			flows = append(flows, sim.Many(2, sim.Flow{Control: control})...)
		}
		control, err := plain(8*units.Microsecond, ai)
		if f.Algorithm != "swift" {
			control, err = cc.Parse("dcqcn")
		}
		if err != nil {
			return err
		}
		flows = append(flows,
			sim.Many(f.Flows, sim.Flow{Start: units.Millisecond, Control: control})...)
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		from, all := config.Until/2, binsOf(bin, r.Traces)
		for i, class := range mixedClasses {
			b := binsOf(bin, r.Traces[min(2*i, len(r.Traces)):min(2*i+2+2*(i/2), len(r.Traces))])
			j.Value(class, b.share(all, from, config.Until))
			b.keep(j, class)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("swift-ok", r.Cell("1 swift").Values("priority 5").Mean())
		dcqcn := r.Cell("1 dcqcn")
		late := r.Cell(foreign{lateMarks, 1}.name())
		r.Note("dcqcn-breaks", "DCQCN is marked from 8 µs of queue on, and channel 5 keeps 20 "+
			"µs: DCQCN starves. With the thresholds beyond the channels, 40 and 160 µs, PrioPlus "+
			"keeps %.2g",
			late.Values("priority 2").Mean()+late.Values("priority 5").Mean())
		r.Claim("dcqcn-breaks", dcqcn.Values("priority 2").Mean()+dcqcn.Values("priority 5").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var names []string
		for _, f := range foreigns {
			names = append(names, f.name())
		}
		p := figure.Bars("shares", "What two flows of priority 2 and two of 5 keep beside others "+
			"in their queue", "part of what is through", names...)
		for _, class := range mixedClasses {
			var heights []float64
			for _, n := range names {
				heights = append(heights, r.Cell(n).Values(class).Mean())
			}
			p.Heights(class, heights...)
		}
		return []figure.Figure{p}
	},
}

var mixedClasses = []string{"priority 2", "priority 5", "without priority"}
