package bytetuninglab

import (
	"math"
	"slices"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// contender is a way to choose watermarks: a tuner, or a fixed baseline.
type contender struct {
	Name, Tuner string
	NIC         bool // NVIDIA's DCQCN, not the paper's
}

var contenders = []contender{
	{Name: "bytetuning", Tuner: "anneal:tem=0.1"}, {Name: "acc", Tuner: "acc"},
	{Name: "experience"}, {Name: "manufacturer"}, {Name: "dcqcn"},
}

// withNICs returns the contender with NVIDIA's DCQCN.
func (c contender) withNICs() contender { return contender{c.label() + ", NIC", c.Tuner, true} }

// label returns the contender's name without its NICs.
func (c contender) label() string { return strings.TrimSuffix(c.Name, ", NIC") }

// fig11Contenders are the contenders, and some of them with NVIDIA's DCQCN beside them.
func fig11Contenders() []contender {
	return append(slices.Clone(contenders), contenders[0].withNICs(), contenders[2].withNICs(),
		contenders[3].withNICs(), contenders[4].withNICs())
}

// fig11Evaluations is the number of measurements of a contender.
func fig11Evaluations(s experiment.Scale, c contender) int {
	if c.NIC {
		return experiment.At(s, 40, 10)
	}
	return experiment.At(s, 120, 30)
}

// fig11Scene is the paper's first cluster reduced to two senders below other ToR switches than the
// receiver's. With the paper's DCQCN the queue oscillates with a period of 8 ms.
func fig11Scene(s experiment.Scale, seed uint64, c contender) (*scene.Target, error) {
	t, err := scene.New("2to1")
	if err != nil {
		return nil, err
	}
	t.Hosts, t.QPs, t.Seed = 10, 100, seed
	if !c.NIC {
		publish(&t.Scene)
	}
	t.Settle, t.Period = 8*ms, 6*ms
	if s == experiment.Small {
		t.Rate, t.QPs, t.Settle, t.Period = 10*gbps, 20, 10*ms, ms
	}
	return t, nil
}

// fig11: a 2-to-1 pattern under two tuners and three fixed watermarks. An evaluation stands for a
// second of the paper's; each begins with an empty network, of which the first 8 ms are not
// measured.
var fig11 = &experiment.Experiment{
	ID:    "bytetuning/fig11",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, c := range fig11Contenders() {
			cells = append(cells, experiment.Cell{Name: c.Name, Params: c})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(contender)
		t, err := fig11Scene(j.Scale, j.Seed, c)
		if err != nil {
			return err
		}
		first := c.label()
		if c.Tuner != "" {
			first = "experience"
		}
		w, err := bytetuning.Baseline(first, t.Path())
		if err != nil {
			return err
		}
		start := bytetuning.Point{w}
		evaluations := fig11Evaluations(j.Scale, c)
		throughput, queue := j.Series("throughput"), j.Series("queue")
		take := func(n int, m *bytetuning.Measurement) {
			throughput.Add(float64(n), float64(m.Throughput()))
			queue.Add(float64(n), float64(m.Queue()))
			j.Value("lost", float64(m.Lost))
		}
		if c.Tuner == "" {
			if err := t.Apply(j.Context(), start); err != nil {
				return err
			}
			m, err := t.Measure(j.Context())
			if err != nil {
				return err
			}
			for n := range evaluations {
				take(n+1, m) // the same network gives the same measurement again
			}
			return nil
		}
		objective := bytetuning.NewObjective()
		tuner, err := bytetuning.New(c.Tuner, bytetuning.Problem{Layers: t.Layers(), Start: start,
			Energy: objective.Energy, Seed: j.Seed})
		if err != nil {
			return err
		}
		s := &bytetuning.Search{Target: t, Tuner: tuner, Objective: objective, Start: start,
			Budget: evaluations, Each: func(p bytetuning.Progress) {
				if p.Measurement != nil {
					take(p.N, p.Measurement)
				}
				j.Progress(float64(p.N) / float64(evaluations))
			}}
		_, err = s.Run(j.Context())
		return err
	},
	Judge: func(r *experiment.Results) {
		half := func(name, what string) float64 { // mean over the last half, of all seeds
			sum, n := 0., 0
			for _, seed := range r.Cell(name).Seeds() {
				y := seed.Series(what).Y
				for _, v := range y[len(y)/2:] {
					sum, n = sum+v, n+1
				}
			}
			return sum / float64(n)
		}
		faster, shorter := claims.Value{}, claims.Value{}
		for _, c := range contenders[1:] {
			faster = faster.With(c.Name,
				claims.Number(half("bytetuning", "throughput")/half(c.Name, "throughput")-1))
			if c.Tuner == "" {
				shorter = shorter.With(c.Name,
					claims.Number(1-half("bytetuning", "queue")/half(c.Name, "queue")))
			}
		}
		r.Claim("throughput-not-worse", faster)
		r.Claim("queue", shorter)
		rate := float64(experiment.At(r.Scale, 25*gbps, 10*gbps))
		regret := func(name string) (throughput, queue float64) {
			c := r.Cell(name)
			for _, v := range c.Series("throughput").Y {
				throughput += max(0, rate-v)
			}
			return throughput, c.Series("queue").Y.Sum()
		}
		leastThroughput, leastQueue := math.Inf(1), math.Inf(1)
		for _, c := range contenders {
			if c.Tuner == "" {
				t, q := regret(c.Name)
				leastThroughput, leastQueue = min(leastThroughput, t), min(leastQueue, q)
			}
		}
		t, q := regret("bytetuning")
		r.Claim("regret",
			experiment.With("throughput", t/leastThroughput).With("queue", q/leastQueue))
		var long experiment.Values // of each seed
		for _, seed := range r.Cell("bytetuning").Seeds() {
			x, over, late := seed.Series("queue"), 0., 0.
			for i, q := range x.Y {
				if x.X[i] > 30 {
					late++
					over += number(units.Bytes(q) > 1000*bytetuning.Cell)
				}
			}
			long = append(long, over/max(1, late))
		}
		if fig11Evaluations(r.Scale, contenders[0]) > 30 {
			r.Claim("settles", long.Mean())
		}
		tuned, static := contenders[0].withNICs().Name, contenders[2].withNICs().Name
		r.Note("settles", "by seed %.2f. With NVIDIA's DCQCN, whose cuts leave the target rate as "+
			"it is, queue pairs hold the queue at the limit of PFC: the shortest was %.0f cells, "+
			"and tuning gains %.2g %% of throughput on the experience-based watermark", long,
			r.Cell(tuned).Series("queue").Y.Min()/float64(bytetuning.Cell),
			100*(half(tuned, "throughput")/half(static, "throughput")-1))
		explored := "the mean is over all measurements, those of rejected watermarks included: " +
			"half of the measurements are proposals"
		r.Note("throughput-not-worse", "%s", explored)
		r.Note("queue", "%s", explored)
		r.Note("regret", "%s", explored)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := figure.Lines("throughput", "2 to 1 while it is tuned, first seed", "evaluation",
			"throughput (Gb/s)")
		q := figure.Lines("queue", "2 to 1 while it is tuned, first seed", "evaluation",
			"mean queue (cells)")
		rt := figure.Lines("throughput-regret", "Regret of throughput, first seed", "evaluation",
			"cumulative (Gb/s)")
		rq := figure.Lines("queue-regret", "Regret of queue, first seed", "evaluation",
			"cumulative (1000 cells)")
		rate := float64(experiment.At(r.Scale, 25*gbps, 10*gbps))
		for _, c := range fig11Contenders() {
			seed := r.Cell(c.Name).Seeds()[0]
			throughput, queue := seed.Series("throughput").Scaled(1, 1e-9),
				seed.Series("queue").Scaled(1, 1./256)
			t.Add(c.Name, throughput.X, throughput.Y)
			q.Add(c.Name, queue.X, queue.Y)
			var lost, waited []float64
			sumLost, sumWaited := 0., 0.
			for i := range throughput.Y {
				sumLost, sumWaited = sumLost+rate/1e9-throughput.Y[i], sumWaited+queue.Y[i]/1000
				lost, waited = append(lost, sumLost), append(waited, sumWaited)
			}
			rt.Add(c.Name, throughput.X, lost)
			rq.Add(c.Name, queue.X, waited)
		}
		return []figure.Figure{t, q, rt, rq}
	},
}
