package hostlab

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/bottleneck"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/figure"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// admit makes the two halves of ToCC for each connection; those that end at one host share what
// receivers share.
func admit(spec tocc.Spec) func(from, to, n int, path cc.Path) (cc.Gate, cc.Granter, error) {
	ends := map[int]*tocc.Endpoint{}
	return func(_, to, _ int, path cc.Path) (cc.Gate, cc.Granter, error) {
		if ends[to] == nil {
			ends[to] = spec.Endpoint()
		}
		return ends[to].New(path)
	}
}

// fctWorlds are those between whose hosts flows come and go.
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

// fctHosts is how many hosts send to each other.
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
			var heights []float64
			for _, w := range worlds {
				heights = append(heights, 1e3*r.Cell(cellName(a, w)).Values("short").Percentile(p))
			}
			f.Heights(a.Name, heights...)
		}
		figures = append(figures, f)
	}
	return figures
}

func runFCT(j *experiment.Job) error {
	c := j.Params.(longCell)
	span := experiment.At(j.Scale, 120*ms, 60*ms)
	cl, err := between(j.Seed, c.Algorithm, c.World, fctHosts-1)
	if err != nil {
		return err
	}
	traffic, err := workload.Poisson{
		Hosts: fctHosts, Rate: rate * payload / (payload + bottleneck.Overhead), Load: 0.3,
		Sizes: workload.WebSearch, Seed: j.Seed, Until: units.Time(span),
	}.Source()
	if err != nil {
		return err
	}
	j.Value("short")
	cl.Drive(traffic, func(f *cluster.Running) {
		if f.Bytes < short {
			j.Value("short", f.Done.Sub(f.At).Seconds())
		}
	})
	cl.Net.Every(ms, func(now units.Time) bool {
		if cl.Running() == 0 && now.After(units.Time(span)) || j.Context().Err() != nil {
			cl.Net.Stop()
		}
		return true
	})
	if err := cl.Net.Run(units.Time(10 * span)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return err
	}
	j.Value("incomplete", float64(cl.Running()+len(cl.Errors)))
	return j.Context().Err()
}

// noteFCT says why claims fail. Numbers are those of full scale.
func noteFCT(r *experiment.Results) {
	const probes = "swift prio 3 probes before it sends its first packet, and begins with an " +
		"eighth of a " +
		"BDP: 3.1 times what fixed takes without preemption, 2.1 with it"
	r.Note("middle", probes)
	r.Note("quiet-middle", probes)
	r.Note("tail", "flows on a connection wait for what it has to recover")
}
