package hostlab

import (
	"fmt"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
)

// fctWorlds are the worlds in which flows come and go.
func fctWorlds(s experiment.Scale) []world {
	if s == experiment.Small {
		return []world{quiet, central}
	}
	worlds := []world{quiet}
	for i := range preempted {
		worlds = append(worlds, preemptedWorld(i, half), preemptedWorld(i, all))
	}
	return append(worlds, stamped)
}

// fctHosts is the number of hosts that send to each other.
const fctHosts = 8

// short is the size of the longest short flow.
const short = 100_000

// fct: completion times of flows between hosts that lose their cores.
var fct = &experiment.Experiment{
	ID:      "host/fct",
	Seeds:   seeds,
	Cells:   func(s experiment.Scale) []experiment.Cell { return everyAlgorithm(fctWorlds(s)) },
	Run:     runFCT,
	Judge:   judgeFCT,
	Figures: drawFCT,
}

func judgeFCT(r *experiment.Results) {
	ratios := func(p float64, w world) claims.Value {
		v := claims.Value{}
		base := r.Cell(cellName(algorithms[0], w)).Values("short").Percentile(p)
		for _, a := range controlled {
			v = v.With(a.Name,
				claims.Number(r.Cell(cellName(a, w)).Values("short").Percentile(p)/base))
		}
		return v
	}
	r.Claim("complete", r.Values("incomplete").Sum())
	r.Claim("middle", ratios(50, central))
	r.Claim("tail", ratios(99, central))
	r.Claim("quiet-middle", ratios(50, quiet))
	noteFCT(r)
}

func drawFCT(r *experiment.Results) (figures []figure.Figure) {
	worlds := fctWorlds(r.Scale)
	var names []string
	for _, w := range worlds {
		names = append(names, w.Name)
	}
	for _, p := range []float64{50, 95, 99} {
		name := fmt.Sprintf("p%g", p)
		f := figure.Bars(name, name+" of the completion time of flows below 100 KB", "ms", names...)
		for _, a := range algorithms {
			var heights experiment.Measures
			for _, w := range worlds {
				heights.Add(r.Cell(cellName(a, w)), func(c experiment.Pool) float64 {
					return 1e3 * c.Values("short").Percentile(p)
				})
			}
			heights.Bars(f, a.Name)
		}
		figures = append(figures, f)
	}
	return figures
}

func runFCT(j *experiment.Job) error {
	c := j.Params.(longCell)
	span := experiment.At(j.Scale, 120*ms, 60*ms)
	s, err := between(j.Seed, c.Algorithm, c.World, fctHosts-1)
	if err != nil {
		return err
	}
	s.Workload = sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.3, span), Span: span,
		MayFail: true}
	s.Step, s.Until = ms, 10*span
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value("short")
	for _, f := range r.Flows {
		if f.Bytes < short {
			j.Value("short", f.FCT().Seconds())
		}
	}
	j.Value("incomplete", float64(r.Unfinished+r.Failed))
	return nil
}

// noteFCT explains failed claims. Numbers are those of full scale.
func noteFCT(r *experiment.Results) {
	const probes = "swift prio 3 probes before its first packet and begins with an eighth of a " +
		"BDP: 3.1 times the time of fixed without preemption, 2.1 with it"
	r.Note("middle", probes)
	r.Note("quiet-middle", probes)
	r.Note("tail", "flows on a connection wait while it recovers lost packets")
}
