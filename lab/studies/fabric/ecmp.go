package fabriclab

import (
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// ecmp: flows spread over equal paths at random, and both directions take the same path.
var ecmp = &experiment.Experiment{
	ID: "fabric/ecmp",
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("n=%d", 2, 3, 4, 8, 16)
	},
	Run: func(j *experiment.Job) error {
		const flows, hosts = 10_000, 64
		paths := j.Params.(int)
		link := fabric.Link{Rate: 100 * gbps}
		n := fabric.LeafSpine{Leaves: 2, Spines: paths, HostsPerLeaf: hosts / 2, Host: link,
			Up: link}.Build(fabric.Parts{Config: fabric.Config{Seed: j.Seed}})
		if err := n.Build(); err != nil {
			return err
		}
		rng := generator(j.Seed)
		count := map[string]int{}
		astray := 0
		for range flows {
			a, b, port := rng.IntN(hosts/2), hosts/2+rng.IntN(hosts/2),
				uint16(0xc000+rng.IntN(0x4000))
			there, back := n.Path(a, b, port), n.Path(b, a, port)
			spine := there[1].Peer().Node().String()
			count[spine]++
			if back[1].Peer().Node().String() != spine {
				astray++
			}
		}
		even := flows / float64(paths)
		deviation := math.Sqrt(flows / float64(paths) * (1 - 1/float64(paths)))
		for _, s := range n.Switches()[:paths] {
			j.Value("flows", float64(count[s.Name()]))
			j.Value("deviation", math.Abs(float64(count[s.Name()])-even)/deviation)
		}
		j.Value("astray", float64(astray))
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("even", r.Values("deviation").Max())
		r.Claim("symmetric", r.Values("astray").Sum())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.CDF("deviation", "Deviation of the paths from an equal share",
			"standard deviations")
		r.Distributions(p, "deviation", 1)
		return []figure.Figure{p}
	},
}
