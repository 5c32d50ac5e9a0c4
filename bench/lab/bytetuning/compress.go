package bytetuninglab

import (
	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
)

// compress: how much smaller the search becomes when the switches of a layer have one watermark.
var compress = &experiment.Experiment{
	ID:    "bytetuning/sec5.4-compress",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		space := bytetuning.Traversal()
		j.Value("grid", float64(space.Size()))
		classes := map[bytetuning.Alpha]bool{}
		for p := range 101 {
			if a, ok := dialect.H3CAlpha(p); ok {
				classes[a] = true
			}
			j.Series("classes").Add(float64(p), float64(len(classes)))
		}
		j.Value("classes", float64(len(classes)))
		// The lab of section 2.3: four ToR switches and two leaves, which are two layers.
		j.Value("switches", 4+2)
		j.Value("layers", 2)
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("sizes", claims.Value{}.With("grid", claims.Number(r.Values("grid")[0])).
			With("uncompressed_exponent", claims.Number(r.Values("switches")[0])).
			With("compressed_exponent", claims.Number(r.Values("layers")[0])))
		r.Claim("classes", r.Values("classes")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Steps("classes", "Classes of α that H3C's per cents reach", "per cent", "classes")
		s := r.Series("classes")
		return []figure.Figure{p.Add("up to it", s.X, s.Y)}
	},
}
