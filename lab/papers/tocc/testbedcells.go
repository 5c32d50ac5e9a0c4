package tocc

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// testbedSizes are the sizes of messages for bandwidth. Claims are about the mean of both, because
// "performance under different size background flows shows the same trends".
var testbedSizes = []units.Bytes{8 * units.KiB, units.MiB}

// testbedCells returns patterns under each scheme with each size of messages.
func testbedCells(s experiment.Scale, patterns ...testbed) (cells []experiment.Cell) {
	for _, t := range patterns {
		t.Rack, t.QPs, t.Targets = experiment.At(s, 16, 4), experiment.At(s, 8, 2), experiment.At(s,
			4, 2)
		sizes := testbedSizes
		if t.Pattern == incast {
			sizes, t.QPs = incastSizes, experiment.At(s, 32, 8)
		}
		for _, t.Bytes = range sizes {
			t.Warm, t.Span = 3*units.Millisecond, 7*units.Millisecond
			if t.Load > 0 && t.Bytes == units.MiB { // of which a queue pair posts ten in a second
				t.Warm, t.Span = 5*units.Millisecond, 20*units.Millisecond
			}
			if t.Pattern == incast {
				t.Warm, t.Span = units.Millisecond, 39*units.Millisecond
			}
			if s == experiment.Small {
				t.Warm, t.Span = 2*units.Millisecond, 8*units.Millisecond
			}
			for _, t.Scheme = range testbedSchemes {
				cells = append(cells, experiment.Cell{Name: t.name(), Params: t})
			}
		}
	}
	return cells
}

// runTestbed runs a cell and records its results.
func runTestbed(j *experiment.Job) error {
	t := j.Params.(testbed)
	r, err := testbedRuns.Of(j, t, func() (*testbedOutcome, error) { return t.run(j) })
	if err != nil {
		return err
	}
	j.Value("goodput", r.Goodput)
	j.Value("early", r.early())
	j.Value("pauses", r.Pauses)
	j.Value("drops", r.Drops)
	j.Value("again", r.Again)
	j.Value("tokens", r.Tokens)
	j.Value("data", r.Links.Data)
	j.Value("token queue", r.Links.Tokens)
	j.Value("ack queue", r.Links.ACKs)
	j.Value("idle", r.Links.idle())
	j.Value("buffer", r.Buffer)
	j.Value("latency", r.Latency...)
	j.Value("messages", float64(len(r.Background)))
	j.Value("time", r.Background.Sum())
	squares := 0.0
	for _, x := range r.Background {
		squares += x * x
	}
	j.Value("squares", squares)
	fct := j.Series("fct")
	sorted := slices.Sorted(slices.Values(r.Background))
	for i := range min(len(sorted), 500) {
		rank := (i + 1) * len(sorted) / min(len(sorted), 500)
		fct.Add(sorted[rank-1], float64(rank)/float64(len(sorted)))
	}
	*j.Series("rate") = *r.Rate
	return nil
}

// early is the goodput of the first 20 ms.
func (r *testbedOutcome) early() float64 {
	sum, n := 0.0, 0.0
	for i, at := range r.Rate.X {
		if at < 20e-3 {
			sum, n = sum+r.Rate.Y[i], n+1
		}
	}
	return sum / n
}

// testbedPools are the cells of a scheme and a pattern, one for each size of messages.
type testbedPools []experiment.Pool

func testbedOf(r *experiment.Results, s testbedScheme, p pattern) (out testbedPools) {
	for _, c := range r.Cells() {
		if t := testbedParams(c); t.Scheme == s && t.Pattern == p {
			out = append(out, c)
		}
	}
	return out
}

func testbedParams(p experiment.Pool) testbed { return p.Params.(testbed) }

// of returns the cells of a size.
func (p testbedPools) of(bytes units.Bytes) testbedPools {
	return slices.DeleteFunc(slices.Clone(p), func(c experiment.Pool) bool {
		return testbedParams(c).Bytes != bytes
	})
}

func (p testbedPools) first() experiment.Pool { return p[0] }

// all pools values.
func (p testbedPools) all(name string) (all experiment.Values) {
	for _, c := range p {
		all = append(all, c.Values(name)...)
	}
	return all
}

func (p testbedPools) mean(name string) float64 { return p.all(name).Mean() }

// pauses returns the number of PAUSEs of all sizes, the mean of the seeds.
func (p testbedPools) pauses() float64 { return p.mean("pauses") * float64(len(p)) }

// testbedLatency draws the latency of messages, the mean and the tail.
func testbedLatency(r *experiment.Results, title string, p pattern) figure.Figure {
	var groups []string
	for _, bytes := range testbedSizes {
		groups = append(groups, "mean, "+bytes.String(), "99.9th, "+bytes.String())
	}
	bars := figure.Bars(string(p), title, "messages for latency (µs)", groups...)
	bars.Y.Log = true
	for _, s := range testbedSchemes {
		var m experiment.Measures
		for _, bytes := range testbedSizes {
			cell := testbedOf(r, s, p).of(bytes).first()
			m.Add(cell, func(c experiment.Pool) float64 { return 1e6 * c.Values("latency").Mean() })
			m.Add(cell, func(c experiment.Pool) float64 {
				return 1e6 * c.Values("latency").Percentile(99.9)
			})
		}
		m.Bars(bars, string(s))
	}
	return bars
}
