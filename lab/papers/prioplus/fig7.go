package prioplus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig7: the noise of delays, and the effect of the filter of two samples on it.
var fig7 = &experiment.Experiment{
	ID:    "prioplus/fig7",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		random := rand.New(rand.NewPCG(j.Seed, 0))
		samples := make(experiment.Values, experiment.At(j.Scale, 1_000_000, 100_000))
		beyond := 0.0
		for i := range samples {
			samples[i] = workload.DelayNoise.Sample(random).Seconds()
			if samples[i] > 1e-6 {
				beyond++
			}
		}
		j.Value("beyond", beyond/float64(len(samples)))
		slices.Sort(samples)
		j.Value("p99.85", rank(samples, 99.85))
		j.Value("mean", samples.Mean())
		keepRanks(j, "noise", samples)
		const acks = 1_000_000_000
		if j.Scale == experiment.Full {
			if err := ourNoise(j); err != nil {
				return err
			}
		}
		j.Value("between", acks*1000/float64(pairs(random, 0.0015, acks)))
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("cdf-tail", r.Values("beyond")[0])
		r.Claim("p9985", 1e6*r.Values("p99.85")[0])
		r.Claim("mean", 1e6*r.Values("mean")[0])
		r.Claim("filter", claims.Size(units.Bytes(r.Values("between")[0])))
		if r.Scale == experiment.Small {
			return
		}
		data := r.Values("our data")
		if len(data) == 0 {
			r.Note("our-port", "bin/roce_channels is not beside this program")
			return
		}
		probe := r.Values("our probe")
		r.Claim("our-port", data[3]/data[1])
		r.Note("our-port", "bin/roce_channels -d loop:, 100 000 packets and as many probes "+
			"instead of a million, software time stamps, other programs beside it on the "+
			"machine; packets: mean %.2f µs, median %.2f, p99.85 %.1f; probes %.2f, %.2f, %.1f",
			data[0], data[1], data[3], probe[0], probe[1], probe[3])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.CDF("noise", "Noise of a measured delay", "noise (µs)")
		return []figure.Figure{p.Samples("the paper's testbed, as drawn",
			r.Values("noise").Scaled(1e6))}
	},
}

// pairs draws acks independent samples, each beyond the limit with probability p, and counts how
// often a filter of two stops a flow. The number of samples between two beyond the limit is
// geometric.
func pairs(random *rand.Rand, p float64, acks int) (n int) {
	first := false // the sample before was beyond, and the filter has not counted it yet
	for at := 0; ; {
		gap := 1 + int(math.Log(1-random.Float64())/math.Log(1-p))
		if at += gap; at > acks {
			return n
		}
		if first && gap == 1 {
			n++
			first = false
			continue
		}
		first = true
	}
}

// ourNoise records the noise that roce_channels measures between two ports of this machine, for
// packets of 1024 B and probes, in microseconds.
func ourNoise(j *experiment.Job) error {
	here, err := os.Executable()
	if err != nil {
		return err
	}
	program := exec.CommandContext(j.Context(), filepath.Join(filepath.Dir(here), "roce_channels"),
		"-d", "loop:", "-m", "1024", "-n", "200000", "--json", "-")
	out, err := program.Output()
	if errors.Is(err, fs.ErrNotExist) {
		j.Value("our data")
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w", program, err)
	}
	var found struct {
		Noise map[string]channels.NoiseDocument
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("%v: %w", program, err)
	}
	for _, what := range []string{"data", "probe"} {
		n, ok := found.Noise[what]
		if !ok {
			return fmt.Errorf("%v: its output has no noise of %s", program, what)
		}
		j.Value("our "+what, n.Mean, n.P50, n.P99, n.P9985, n.Max)
	}
	return nil
}

// rank returns the nearest-rank percentile of sorted values, which are too many to sort each time.
func rank(sorted experiment.Values, p float64) float64 {
	return sorted[max(1, int(math.Ceil(p/100*float64(len(sorted)))))-1]
}

// keepRanks records every half percentile.
func keepRanks(j *experiment.Job, name string, sorted experiment.Values) {
	for p := 0.0; p <= 100; p += 0.5 {
		j.Value(name, rank(sorted, p))
	}
}
