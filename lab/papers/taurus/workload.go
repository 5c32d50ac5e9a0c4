package taurus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// completion is flows of a workload between all hosts of a network, beside incasts (section 5.3).
type completion struct {
	cell
	Workload string
	Flows    int
}

// Values that the paper does not give, or only approximately: the catalogue's taurus-sim.
const (
	load        = 0.5
	incastBytes = 500_000
	incastLoad  = 0.02 // of all hosts' links together
	incastHosts = 60
	incastClass = 1
)

// Flows are small below one bound, and large from the other on.
const (
	smallBelow = 100_000
	largeFrom  = 300_000
)

// hostLink makes the paper's network non-blocking; at 400 Gb/s it would be 4:1.
var hostLink = fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}

// network is the paper's, and a small one as fast above its leaves as below.
func (c completion) network(s experiment.Scale) sim.Topology {
	if s == experiment.Small {
		return fabric.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 8, Host: hostLink,
			Up: fabric.Link{Rate: 4 * hostLink.Rate, Delay: hostLink.Delay}}
	}
	return fabric.TAURUS(hostLink.Rate)
}

// source returns flows between a number of hosts.
func (c completion) source(hosts int, sizes *workload.Sizes, seed uint64) (workload.Source, error) {
	rate := units.BitRate(capacity(hostLink))
	poisson, err := workload.Poisson{Hosts: hosts, Rate: rate, Load: load, Sizes: sizes,
		Flows: c.Flows, Seed: seed}.Source()
	if err != nil {
		return nil, err
	}
	all := rate * units.BitRate(hosts)
	senders, size := min(incastHosts, hosts-1), workload.Uniform[units.Bytes](incastBytes,
		incastBytes+1)
	period := workload.IncastPeriod(senders, size, incastLoad, all)
	incast, err := workload.Incast{
		Hosts: hosts, Senders: senders, Receiver: workload.RandomReceiver, Sizes: size,
		Start: units.Time(period / 4), Period: period,
		Until: units.Time(all.Duration(units.Bytes(float64(c.Flows) * sizes.Mean() / load))),
		Class: incastClass, Seed: seed,
	}.Source()
	return workload.Merge(poisson, incast), err
}

// run records slowdowns by decile of size, of small and of large flows, and completion times of
// flows of one packet.
func (c completion) run(j *experiment.Job) error {
	sizes, err := workload.ByName(c.Workload)
	if err != nil {
		return err
	}
	s, err := c.scenario(j.Seed, hostLink)
	if err != nil {
		return err
	}
	s.Topology, s.Until = c.network(j.Scale), units.Second
	s.Workload.Traffic = func(s *sim.Simulation) (workload.Source, error) {
		return c.source(len(s.Nodes), sizes, s.Seed)
	}
	ended, looked := 0, 0
	s.Over = func(s *sim.Simulation, _ units.Duration) bool {
		for flows := s.Result().Flows; looked < len(flows); looked++ {
			if flows[looked].Class != incastClass {
				ended++
			}
		}
		j.Progress(float64(ended) / float64(c.Flows))
		return ended == c.Flows
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	if ended < c.Flows {
		return fmt.Errorf("taurus: %d of %d flows ended", ended, c.Flows)
	}
	c.record(j, r, sizes)
	return nil
}

// record records the times of flows outside incasts.
func (c completion) record(j *experiment.Job, r *sim.Result, sizes *workload.Sizes) {
	bounds := deciles(sizes)
	for i := range bounds {
		j.Value(decile(i))
	}
	for _, f := range r.Flows {
		if f.Class == incastClass {
			continue
		}
		if i := slices.IndexFunc(bounds, func(b units.Bytes) bool { return f.Bytes <= b }); i >= 0 {
			j.Value(decile(i), f.Slowdown())
		}
		switch {
		case f.Bytes < smallBelow:
			j.Value("small", f.Slowdown())
		case f.Bytes > largeFrom:
			j.Value("large", f.Slowdown())
		}
		if f.Bytes < payload {
			j.Value("packet", f.FCT().Seconds())
		}
	}
	j.Value("again", float64(r.Totals.Retransmitted))
}

// deciles returns the upper ends of the sizes' deciles.
func deciles(sizes *workload.Sizes) (bounds []units.Bytes) {
	for i := range 10 {
		bounds = append(bounds, sizes.Quantile(float64(i+1)/10))
	}
	return bounds
}

func decile(i int) string { return fmt.Sprintf("slowdown %d", i) }

// completions returns the experiment of a workload.
func completions(id, sizes string, full, small int,
	judge func(*experiment.Results)) *experiment.Experiment {
	return &experiment.Experiment{
		ID:    id,
		Cells: func(experiment.Scale) []experiment.Cell { return compared(algorithms...) },
		Run: func(j *experiment.Job) error {
			return completion{j.Params.(cell), sizes, experiment.At(j.Scale, full, small)}.run(j)
		},
		Judge: judge,
		Figures: func(r *experiment.Results) []figure.Figure {
			return slowdowns(r, sizes, experiment.At(r.Scale, full, small))
		},
	}
}

// slower returns how much the split adds to the mean slowdown, for each algorithm.
func slower(r *experiment.Results, of string) experiment.Keyed {
	return experiment.Each(algorithms, func(a algorithm) float64 { return ratio(r, a, of) })
}

// slowdowns draws the means by size, in line and behind the split.
func slowdowns(r *experiment.Results, name string, flows int) (figures []figure.Figure) {
	sizes, err := workload.ByName(name)
	if err != nil {
		return nil // as in Run, which came before
	}
	bounds := deciles(sizes)
	for _, a := range algorithms {
		plot := figure.Lines("slowdown-"+string(a),
			fmt.Sprintf("Mean slowdown by size, %d flows of %s, %s", flows, name, a),
			"size up to (KB)", "slowdown")
		plot.X.Log = true
		for _, p := range places {
			var x, y []float64
			for i, b := range bounds {
				if v := of(r, a, p).Values(decile(i)); len(v) > 0 {
					x, y = append(x, float64(b)/1000), append(y, v.Mean())
				}
			}
			plot.Add(p.String(), x, y)
		}
		figures = append(figures, plot)
	}
	return figures
}
