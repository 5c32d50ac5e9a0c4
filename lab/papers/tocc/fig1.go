package tocc

import (
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig1: the flow sizes of the four workloads.
var fig1 = &experiment.Experiment{
	ID: "tocc/fig1",
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%s", "memcached", "webserver", "cachefollower", "websearch")
	},
	Run: func(j *experiment.Job) error {
		sizes, err := workload.ByName(j.Params.(string))
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(j.Seed, 1))
		samples := experiment.At(j.Scale, 1_000_000, 100_000)
		sum := 0.0
		upTo := make([]int, 81) // of sizes below ten to the tenth of the index
		under := map[units.Bytes]int{1500: 0, 100_000: 0, 1_000_000: 0}
		for range samples {
			size := sizes.Sample(rng)
			sum += float64(size)
			upTo[min(int(math.Ceil(10*math.Log10(float64(size)))), len(upTo)-1)]++
			for limit := range under {
				if size < limit {
					under[limit]++
				}
			}
		}
		share := func(n int) float64 { return float64(n) / float64(samples) }
		j.Value("packet", share(under[1500]))
		j.Value("100 KB", share(under[100_000]))
		j.Value("1 MB", share(under[1_000_000]))
		j.Value("error", math.Abs(sum/float64(samples)/sizes.Mean()-1))
		total := 0
		for i, n := range upTo {
			total += n
			j.Series("sizes").Add(math.Pow(10, float64(i)/10), share(total))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("memcached-tiny", r.Cell("memcached").Values("packet").Mean())
		r.Claim("mix", experiment.With("webserver", r.Cell("webserver").Values("1 MB").Mean()).
			With("websearch", 1-r.Cell("websearch").Values("100 KB").Mean()))
		r.Claim("mean", r.Values("error").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("sizes", "Flow sizes of the four workloads", "size (B)",
			"fraction of flows")
		p.X.Log, p.Y.Max = true, 1
		r.Curves(p, "sizes", 1, 1)
		return []figure.Figure{p}
	},
}
