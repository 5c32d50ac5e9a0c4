package bytetuninglab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// marking is a setting of ECN; thresholds in packets of 1 KB.
type marking struct {
	kmin, kmax units.Bytes
	pmax       float64
}

func (m marking) String() string { return fmt.Sprintf("%d/%d/%.0f%%", m.kmin, m.kmax, 100*m.pmax) }

func (m marking) of(c *fluid.Config) {
	c.Kmin, c.Kmax, c.Pmax = m.kmin*1000, m.kmax*1000, m.pmax
}

// points is the catalogue's table of fixed points: p*, α*, R_T* and q* of four markings, 0 where
// there is none.
var points = []struct {
	n                int
	p, alpha, target float64
	q                [4]float64
}{
	{2, 7.769886e-04, 0.101364218, 20.2179899, [4]float64{6.5151, 20.1513, 201.5540, 200.3108}},
	{4, 1.887666e-03, 0.121816469, 10.1595314, [4]float64{8.6809, 41.8095, 203.7753, 200.7551}},
	{8, 4.552111e-03, 0.145155818, 5.1151197, [4]float64{13.8766, 93.7662, 209.1042, 201.8208}},
	{10, 6.031955e-03, 0.153276494, 4.1033122, [4]float64{16.7623, 122.6231, 212.0639, 202.4128}},
	{16, 1.087275e-02, 0.171301320, 2.5818224, [4]float64{26.2019, 0, 221.7455, 204.3491}},
	{20, 1.435262e-02, 0.180268481, 2.0730607, [4]float64{32.9876, 0, 228.7052, 205.7410}},
	{32, 2.561797e-02, 0.199903928, 1.3072468, [4]float64{54.9550, 0, 251.2359, 210.2472}},
}

var pointMarkings = [4]marking{{5, 200, 0.1}, {5, 200, 0.01}, {200, 400, 0.1}, {200, 400, 0.5}}

// cycles are the longest queues of the limit cycles in packets, from a separate integration.
var cycles = map[int]float64{2: 14.75, 4: 23.55, 8: 43.48, 10: 54.38}

// endless is a model without PFC and with an unlimited buffer.
func endless(n int, delay units.Duration) fluid.Config {
	c := fluid.Default(n, 40*gbps/units.BitRate(n))
	c.Kpfc, c.Buffer, c.Delay, c.Step, c.Horizon = 0, 1<<40, delay, 2*us, 300*ms
	return c
}

// fluidFixedPoint: the fixed points of the model, whether it converges to them with a short delay
// and with the paper's, and whether packets agree.
var fluidFixedPoint = &experiment.Experiment{
	ID:    "bytetuning/fluid-fixedpoint",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		off := func(want, got float64) { j.Value("off", math.Abs(got/want-1)) }
		for _, f := range points {
			for i, m := range pointMarkings {
				c := endless(f.n, 85*us)
				m.of(&c)
				at, err := fluid.FixedPoint(c)
				if err != nil {
					return err
				}
				off(f.p, at.Mark)
				off(f.alpha, at.Alpha)
				off(f.target, float64(at.Target)/1e9)
				if at.Equilibrium != (f.q[i] > 0) {
					j.Value("off", math.Inf(1))
				} else if at.Equilibrium {
					off(f.q[i], at.Queue)
				}
			}
		}
		ns := experiment.At(j.Scale, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}, []int{2, 8})
		for _, n := range ns {
			for _, delay := range []units.Duration{4 * us, 85 * us} {
				c := endless(n, delay)
				at, err := fluid.FixedPoint(c)
				if err != nil {
					return err
				}
				c.Every = 50 * us
				r, err := fluid.Run(c)
				if err != nil {
					return err
				}
				if delay == 4*us {
					j.Value("converge", math.Abs(r.Queue/at.Queue-1))
				} else if want, known := cycles[n]; known {
					j.Value("cycle", math.Abs(r.TailMax/want-1))
				}
				if n == 8 {
					keep := j.Series(fmt.Sprintf("queue τ* %v", delay))
					for i, t := range r.Series.Time[:400] {
						keep.Add(t, r.Series.Queue[i])
					}
				}
				growth, err := fluid.Growth(c)
				if err != nil {
					return err
				}
				j.Series(fmt.Sprintf("growth τ* %v", delay)).Add(float64(n), growth)
			}
		}
		if j.Scale == experiment.Small {
			return nil
		}
		for _, n := range []int{2, 4, 8} {
			q, err := packetQueue(j, n, 50*ms)
			if err != nil {
				return err
			}
			j.Value(fmt.Sprintf("n%d", n), q)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("table", r.Values("off").Max())
		r.Claim("converge", r.Values("converge").Max())
		r.Claim("cycle", r.Values("cycle").Max())
		if r.Scale == experiment.Full {
			r.Claim("packet-agrees", experiment.Each([]string{"n2", "n4", "n8"},
				func(n string) float64 { return r.Values(n)[0] }))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		q := figure.Lines("queue", "Queue of eight flows, 5/200/10 %", "time (ms)",
			"queue (packets)")
		g := figure.Points("growth", "What becomes of a small disturbance", "flows", "growth (1/s)")
		for _, delay := range []units.Duration{4 * us, 85 * us} {
			name := fmt.Sprintf("τ* %v", delay)
			r.Series("queue "+name).Scaled(1e3, 1).Draw(q, name)
			r.Series("growth "+name).Draw(g, name)
		}
		return []figure.Figure{q, g}
	},
}

// packetQueue returns the mean queue in bytes, from 20 ms on, of n flows of DCQCN in the fabric: 40
// Gb/s, 5/200/10 %, without PFC.
func packetQueue(j *experiment.Job, n int, until units.Duration) (float64, error) {
	control, err := cc.Parse("dcqcn")
	if err != nil {
		return 0, err
	}
	flows := make([]sim.Flow, n)
	for i := range flows {
		flows[i].Control = control
	}
	r, err := sim.Bottleneck{
		Seed: j.Seed, Rate: 40 * gbps, Delay: 5 * us, ECN: fabric.ECN{Kmin: 5000, Kmax: 200_000,
			Pmax: 0.1}, Until: until, Jitter: 5 * us,
	}.Run(j.Context(), flows)
	if err != nil {
		return 0, err
	}
	return r.Queues[0].Length.Mean(units.Time(20*ms), units.Time(until)), nil
}
