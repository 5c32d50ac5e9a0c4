package bytetuninglab

import (
	"math"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// groupings are partitions of the watermarks that are tuned together, from all apart to one for
// all.
var groupings = []string{"switches", "path", "layers", "all", "receiver"}

// compress: how much smaller the search becomes if switches share a watermark or are left out, and
// what is found then with as many measurements.
var compress = &experiment.Experiment{
	ID:    "bytetuning/sec5.4-compress",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) []experiment.Cell { return experiment.Sweep("%s", groupings...) },
	Run: func(j *experiment.Job) error {
		name := "2to1/" + j.Params.(string)
		if j.Params == "all" {
			name = "2to1"
		}
		t, err := scene.New(name)
		if err != nil {
			return err
		}
		t.Settle, t.Period = 5*ms, 5*ms
		if j.Scale == experiment.Small {
			t.Rate, t.Settle, t.Period = 10*gbps, ms, ms
		}
		layers := t.Layers()
		j.Value("layers", float64(len(layers)))
		j.Value("grid", float64(layers[0].Space.Size()))
		w, err := bytetuning.Baseline("experience", t.Path())
		if err != nil {
			return err
		}
		start := make(bytetuning.Point, len(layers))
		for i := range start {
			start[i] = w
		}
		objective := bytetuning.NewObjective()
		tuner, err := bytetuning.New("anneal:tem=0.1,again=false",
			bytetuning.Problem{Layers: layers, Start: start, Energy: objective.Energy,
				Seed: j.Seed})
		if err != nil {
			return err
		}
		budget := experiment.At(j.Scale, 100, 20)
		best := j.Series("best")
		s := &bytetuning.Search{Target: t, Tuner: tuner, Objective: objective, Start: start,
			Budget: budget, Each: func(p bytetuning.Progress) {
				j.Progress(float64(p.N) / float64(budget))
				if p.Measurement != nil {
					s := p.Measurement.Switches[0] // the receiver's, which all have
					best.Add(float64(s.Throughput), float64(s.Queue))
				}
			}}
		_, err = s.Run(j.Context())
		return err
	},
	Judge: func(r *experiment.Results) {
		classes := map[bytetuning.Alpha]bool{}
		for p := range 101 {
			if a, ok := dialect.H3CAlpha(p); ok {
				classes[a] = true
			}
		}
		r.Claim("sizes", experiment.With("grid", r.Cell("all").Values("grid")[0]).
			With("uncompressed_exponent", r.Cell("switches").Values("layers")[0]).
			With("compressed_exponent", r.Cell("layers").Values("layers")[0]))
		r.Claim("classes", len(classes))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		judge := bytetuning.NewObjective()
		measurement := func(throughput, queue float64) *bytetuning.Measurement {
			return &bytetuning.Measurement{
				Switches: []bytetuning.Sample{{Throughput: units.BitRate(throughput),
					Queue: units.Bytes(queue)}}}
		}
		for _, c := range r.Cells() {
			s := c.Series("best")
			for i := range s.X {
				judge.Observe(measurement(s.X[i], s.Y[i]))
			}
		}
		p := figure.Lines("best", "2 to 1: the best so far, first seed", "measurement", "f")
		t := &figure.Table{Name: "compression",
			Title: "What is tuned apart, and what was found with as many measurements",
			Header: []string{"tuned apart", "watermarks", "log10 of the space",
				"mean f of the best", "least f"}}
		for _, c := range r.Cells() {
			var found experiment.Values
			for n, seed := range c.Seeds() {
				s := seed.Series("best")
				top := 0.
				var x, y []float64
				for i := range s.X {
					top = max(top, judge.Energy(measurement(s.X[i], s.Y[i])))
					x, y = append(x, float64(i+1)), append(y, top)
				}
				if n == 0 {
					p.Add(c.Name, x, y)
				}
				found = append(found, top)
			}
			layers := c.Values("layers")[0]
			t.Row(c.Name, layers, layers*math.Log10(c.Values("grid")[0]), found.Mean(), found.Min())
		}
		return []figure.Figure{p, t}
	},
}
