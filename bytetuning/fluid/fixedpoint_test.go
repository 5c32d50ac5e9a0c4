package fluid

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// fixedPoints were found by bisection elsewhere: p*, the small-p form, α*, R_T* in Gb/s, and q* of
// 5/200/10 %, 5/200/1 %, 200/400/10 % and 200/400/50 %; 0 where there is none.
var fixedPoints = []struct {
	n                       int
	p, small, alpha, target float64
	q                       [4]float64
}{
	{1, 3.182280741e-04, 3.702728423e-04, 0.083805543, 40.2936350,
		[4]float64{5.6205, 11.2054, 200.6365, 200.1273}},
	{2, 7.769886333e-04, 9.246865597e-04, 0.101364218, 20.2179899,
		[4]float64{6.5151, 20.1513, 201.5540, 200.3108}},
	{4, 1.887665920e-03, 2.319517569e-03, 0.121816469, 10.1595314,
		[4]float64{8.6809, 41.8095, 203.7753, 200.7551}},
	{8, 4.552111455e-03, 5.831507524e-03, 0.145155818, 5.1151197,
		[4]float64{13.8766, 93.7662, 209.1042, 201.8208}},
	{10, 6.031955226e-03, 7.848664287e-03, 0.153276494, 4.1033122,
		[4]float64{16.7623, 122.6231, 212.0639, 202.4128}},
	{16, 1.087274562e-02, 1.467769363e-02, 0.171301320, 2.5818224,
		[4]float64{26.2019, 0, 221.7455, 204.3491}},
	{20, 1.435261640e-02, 1.975931100e-02, 0.180268481, 2.0730607,
		[4]float64{32.9876, 0, 228.7052, 205.7410}},
	{32, 2.561796759e-02, 3.696431407e-02, 0.199903928, 1.3072468,
		[4]float64{54.9550, 0, 251.2359, 210.2472}},
	{64, 5.905358763e-02, 9.311757385e-02, 0.230140205, 0.6644453,
		[4]float64{120.1545, 0, 318.1072, 223.6214}},
}

func TestFixedPoint(t *testing.T) {
	settings := [4]struct {
		kmin, kmax units.Bytes
		pmax       float64
	}{{5000, 200_000, 0.1}, {5000, 200_000, 0.01}, {200_000, 400_000, 0.1}, {200_000, 400_000, 0.5}}
	for _, f := range fixedPoints {
		for i, s := range settings {
			c := Default(f.n, 40*gbps/units.BitRate(f.n))
			c.Kmin, c.Kmax, c.Pmax = s.kmin, s.kmax, s.pmax
			at, err := FixedPoint(c)
			require.NoError(t, err)
			assert.InEpsilon(t, f.p, at.Mark, 1e-6, "%d flows", f.n)
			assert.InEpsilon(t, f.alpha, at.Alpha, 1e-6, "%d flows", f.n)
			assert.InEpsilon(t, f.target, float64(at.Target)/1e9, 1e-6, "%d flows", f.n)
			assert.InEpsilon(t, f.small, SmallMark(c), 1e-6, "%d flows", f.n)
			assert.Equal(t, f.q[i] > 0, at.Equilibrium)
			if f.q[i] > 0 {
				assert.InEpsilon(t, f.q[i], at.Queue, 1e-4, "%d flows", f.n)
			}
			assert.InDelta(t, 40/float64(f.n), float64(at.Rate)/1e9, 1e-8)
		}
	}
}

// TestLimitsOfTheFeedback: without marks both counters come round, with all marked none does.
func TestLimitsOfTheFeedback(t *testing.T) {
	c := Default(8, 5*gbps)
	d := c.dcqcn()
	const r = 625_000 // packets/s
	calm := d.hear(0, r)
	assert.Equal(t, feedback{up: r/1e4 + 1/55e-6, raise: r/1e4 + 1/55e-6}, calm)
	near := d.hear(1e-12, r)
	assert.InEpsilon(t, calm.up, near.up, 1e-6)
	assert.InEpsilon(t, calm.raise, near.raise, 1e-6)
	assert.Equal(t, feedback{cuts: 1 / d.tau, alpha: 1}, d.hear(1, r))
	assert.InDelta(t, 0, d.hear(0.999999, r).up, 1e-9)
	assert.Zero(t, d.hear(0.5, 0), "a flow at 0 stays there")
}

// TestSmallExponents: what stands in for math's functions is what they answer.
func TestSmallExponents(t *testing.T) {
	for x := 1e-12; x < 1; x *= 1.1 {
		assert.InEpsilon(t, -math.Expm1(-x), within(x), 1e-10, "%v", x)
		assert.InEpsilon(t, -math.Log1p(-x), rarely(x), 1e-10, "%v", x)
	}
}

// TestMark: up to Kmax the line, above it 1.
func TestMark(t *testing.T) {
	c := Default(8, 5*gbps)
	d := c.dcqcn()
	for q, p := range map[float64]float64{0: 0, 5: 0, 102.5: 0.05, 200: 0.1, 200.001: 1} {
		assert.InDelta(t, p, d.mark(q), 1e-12, "%v packets", q)
	}
}
