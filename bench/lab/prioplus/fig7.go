package prioplus

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// fig7: the noise of delays, and what the filter of two samples makes of it.
var fig7 = &experiment.Experiment{
	ID:    "prioplus/fig7",
	Seeds: once,
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
		if r.Scale == experiment.Full {
			ours := r.Values("our noise")
			if len(ours) == 0 {
				r.Note("our-port", "bin/roce_read_lat is not beside this program")
				return
			}
			r.Claim("our-port", r.Values("our p99.85")[0]/ours.Percentile(50))
			r.Note("our-port", "round trips of READs of 64 B and 1000 B over loop:, software all the way, others beside it on this machine: median %.2f µs, p99.85 %.1f µs",
				1e6*ours.Percentile(50), 1e6*r.Values("our p99.85")[0])
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.CDF("noise", "Noise of a measured delay", "noise (µs)").Samples("the paper's testbed, as drawn", r.Values("noise").Scaled(1e6))
		if r.Scale == experiment.Full {
			if ours := r.Values("our noise"); len(ours) > 0 {
				p.Samples("this machine, over loop:", ours.Scaled(1e6))
			}
		}
		p.X.Max = 5
		return []figure.Figure{p}
	},
}

// pairs draws acks independent samples, each beyond the limit with probability p, and counts how often
// a filter of two stops a flow. Between two beyond the limit are as many as a geometric distribution says.
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

// ourNoise takes down what round trips through two ports of this machine take beyond the shortest, by the
// latency test that was built beside this program.
func ourNoise(j *experiment.Job) error {
	here, err := os.Executable()
	if err != nil {
		return err
	}
	j.Value("our noise")
	var noise experiment.Values
	for _, size := range []string{"64", "1000"} {
		program := exec.CommandContext(j.Context(), filepath.Join(filepath.Dir(here), "roce_read_lat"), "-d", "loop:", "-s", size, "-n", "500000", "-U")
		out, err := program.Output()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%v: %w", program, err)
		}
		samples, err := unsorted(out)
		if err != nil {
			return fmt.Errorf("%v: %w", program, err)
		}
		least := samples.Min()
		for _, s := range samples {
			noise = append(noise, s-least)
		}
	}
	slices.Sort(noise)
	keepRanks(j, "our noise", noise)
	j.Value("our p99.85", rank(noise, 99.85))
	return nil
}

// rank is the nearest-rank percentile of sorted values, of which there are too many to sort each time.
func rank(sorted experiment.Values, p float64) float64 {
	return sorted[max(1, int(math.Ceil(p/100*float64(len(sorted)))))-1]
}

// keepRanks takes down every half percentile.
func keepRanks(j *experiment.Job, name string, sorted experiment.Values) {
	for p := 0.0; p <= 100; p += 0.5 {
		j.Value(name, rank(sorted, p))
	}
}

// unsorted reads the samples of perftest's -U, which are in microseconds, in seconds.
func unsorted(out []byte) (experiment.Values, error) {
	_, table, found := strings.Cut(string(out), "#, usec\n")
	if !found {
		return nil, errors.New("it printed no samples")
	}
	var samples experiment.Values
	for line := range strings.Lines(table) {
		_, text, ok := strings.Cut(strings.TrimSpace(line), ", ")
		if !ok {
			break // what follows the samples
		}
		us, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		samples = append(samples, us/1e6)
	}
	if len(samples) == 0 {
		return nil, errors.New("it printed no samples")
	}
	return samples, nil
}
