package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// TestPoissonLoad: what is offered over many flows is the load, whatever the sizes.
func TestPoissonLoad(t *testing.T) {
	for _, c := range []struct {
		sizes *Sizes
		hosts int
		load  float64
	}{
		{WebSearch, 16, 0.8},
		{Memcached, 1600, 0.5}, // a flow every 19 ps: rounding to picoseconds may not matter
		{Fixed[units.Bytes](4096), 2, 1},
	} {
		const rate, n = 100 * units.Gbps, 300_000
		s := begin(t, Poisson{Hosts: c.hosts, Rate: rate, Load: c.load, Sizes: c.sizes, Seed: 11})
		var sum units.Bytes
		var last units.Time
		for _, f := range flows(s, n) {
			sum += f.Bytes
			last = f.At
		}
		offered := float64(sum.Bits()) / units.Duration(last).Seconds() /
			(float64(rate) * float64(c.hosts))
		assert.InEpsilon(t, c.load, offered, 0.02)
	}
}

// TestPoissonHosts: every host by itself is a Poisson process of its share of the load, and sends
// to the others equally often.
func TestPoissonHosts(t *testing.T) {
	const hosts, n = 8, 200_000
	mean := 4096 * 8 / (0.4 * 100e9) * 1e12 // ps
	s := begin(t, Poisson{Hosts: hosts, Rate: 100 * units.Gbps, Load: 0.4,
		Sizes: Fixed[units.Bytes](4096), Seed: 2})
	var gaps [hosts][]float64
	var last [hosts]units.Time
	var peers [hosts][hosts]float64
	for _, f := range flows(s, n) {
		gaps[f.Src] = append(gaps[f.Src], float64(f.At.Sub(last[f.Src])))
		last[f.Src] = f.At
		peers[f.Src][f.Dst]++
	}
	for h, gaps := range gaps {
		slices.Sort(gaps)
		var far float64 // from the exponential distribution; above 1.95/sqrt(n) once in a thousand
		for i, gap := range gaps {
			far = max(far, math.Abs(float64(i+1)/float64(len(gaps))-(1-math.Exp(-gap/mean))))
		}
		assert.Less(t, far, 1.95/math.Sqrt(float64(len(gaps))), "host %d", h)
		for dst, k := range peers[h] {
			if dst == h {
				assert.Zero(t, k)
			} else {
				assert.InEpsilon(t, float64(n)/hosts/(hosts-1), k, 0.08)
			}
		}
	}
}

// TestExpressPassLoad against its own rule: nodes*rate*load/(mean*8/1460*1538) flows a second,
// divided by the oversubscription.
func TestExpressPassLoad(t *testing.T) {
	const nodes, rate, load, mean = 160, 100e9, 0.8, 66121.0
	theirs := nodes * rate * load / (mean * 8 / 1460 * 1538) / 4
	ours := nodes * rate * ExpressPassLoad(load, 4) / (mean * 8)
	assert.InEpsilon(t, theirs, ours, 1e-12)
}

// TestPoissonNeverOverflows: gaps longer than time itself are the end.
func TestPoissonNeverOverflows(t *testing.T) {
	s := begin(t, Poisson{Hosts: 2, Rate: 1, Load: 1e-6, Sizes: WebSearch, Seed: 1})
	assert.Empty(t, flows(s, 10))
	s = begin(t, Poisson{Hosts: 2, Rate: 8, Load: 1, Sizes: Fixed[units.Bytes](1 << 20), Seed: 1})
	all := flows(s, 1000)
	assert.NotEmpty(t, all)
	assert.Less(t, len(all), 30, "about 9 days each, in 53 days")
}
