package fluid

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

const (
	us   = units.Microsecond
	ms   = units.Millisecond
	gbps = units.Gbps
)

func run(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(c)
	require.NoError(t, err)
	return r
}

// endless returns a configuration without PFC and loss.
func endless(n int, delay units.Duration) Config {
	c := Default(n, 40*gbps/units.BitRate(n))
	c.Kpfc, c.Buffer, c.Delay = 0, 1<<40, delay
	c.Step, c.Horizon = 2*us, 300*ms
	return c
}

// TestConverges checks that flows converge to the fixed point with a feedback delay of 4 µs.
func TestConverges(t *testing.T) {
	race.OneGoroutine(t)
	for _, pmax := range []float64{0.1, 0.01} {
		for n := 2; n <= 10; n++ {
			c := endless(n, 4*us)
			c.Pmax = pmax
			at, err := FixedPoint(c)
			require.NoError(t, err)
			r := run(t, c)
			assert.InEpsilon(t, at.Queue, r.Queue, 1e-3, "%d flows, Pmax %v", n, pmax)
			assert.InEpsilon(t, float64(at.Rate), float64(r.Rate), 1e-6)
			assert.InEpsilon(t, at.Alpha, r.Alpha, 1e-3)
			growth, err := Growth(c)
			require.NoError(t, err)
			assert.Negative(t, growth, "%d flows, Pmax %v", n, pmax)
		}
	}
}

// TestLimitCycle checks that flows oscillate around the fixed point with a delay of 85 µs. Means
// and maxima are from an independent integration.
func TestLimitCycle(t *testing.T) {
	race.OneGoroutine(t)
	for _, c := range []struct {
		n         int
		mean, max float64
	}{{2, 3.31, 14.75}, {4, 6.23, 23.55}, {8, 13.05, 43.48}, {10, 17.02, 54.38}} {
		r := run(t, endless(c.n, 85*us))
		assert.InEpsilon(t, c.mean, r.Queue, 0.05, "%d flows", c.n)
		assert.InEpsilon(t, c.max, r.TailMax, 0.02, "%d flows", c.n)
		growth, err := Growth(endless(c.n, 85*us))
		require.NoError(t, err)
		assert.Positive(t, growth, "%d flows", c.n)
	}
}

// TestGrowth compares the linear model with the simulation: oscillation starts at the delay at
// which the roots cross the imaginary axis.
func TestGrowth(t *testing.T) {
	race.OneGoroutine(t)
	var at units.Duration // longest delay that is stable
	for d := 4 * us; d < 85*us; d += us {
		growth, err := Growth(endless(2, d))
		require.NoError(t, err)
		if growth > 0 {
			break
		}
		at = d
	}
	t.Logf("two flows are stable up to %v", at)
	swing := func(d units.Duration) float64 {
		c := endless(2, d)
		c.Step, c.Horizon = us, units.Second // near the threshold oscillations decay slowly
		r := run(t, c)
		return r.TailMax - r.QueueMin
	}
	assert.Less(t, swing(at-2*us), 0.01, "packets")
	assert.Greater(t, swing(at+3*us), 0.05, "packets")
}

// TestStep checks that the outcome does not depend on the step, and that the integration is of
// second order where nothing jumps.
func TestStep(t *testing.T) {
	at := func(step units.Duration) float64 { // R_C at the end
		c := endless(4, 80*us)
		c.Step, c.Horizon = step, 2*ms
		// the queue is never empty, and marks from the start
		c.Flows[0].Start = 12 * gbps
		c.Kmin, c.Kmax = 0, 4_000_000
		m := newModel(&c)
		for m.n < m.steps {
			m.step()
		}
		return m.flows[0].current
	}
	exact := at(us / 8)
	err := func(step units.Duration) float64 { return math.Abs(at(step) - exact) }
	coarse, fine := err(4*us), err(2*us)
	t.Logf("off by %.3g and %.3g packets/s", coarse, fine)
	assert.InDelta(t, 4, coarse/fine, 1)

	for _, c := range starts {
		fine := run(t, stepped(c, us/2))
		for _, step := range []units.Duration{us, 2500 * units.Nanosecond} {
			r := run(t, stepped(c, step))
			assert.InEpsilon(t, float64(fine.Rate), float64(r.Rate), 0.002, "%v, %v", c, step)
			if r.Pauses == 0 {
				assert.InEpsilon(t, fine.QueueMax, r.QueueMax, 0.01, "%v, %v", c, step)
			} else {
				assert.InDelta(t, fine.Pauses, r.Pauses, 1, "%v, %v", c, step)
			}
			if step == us { // with 2.5 µs the pause is 100 packets late for eight flows at 40 Gb/s
				assert.InDelta(t, fine.Lost, r.Lost, 0.1*fine.Lost, "%v, %v", c, step)
			}
		}
	}
}

// starts are the settings of figure 6: flows and their start rate.
var starts = []Flows{{2, 20 * gbps}, {2, 40 * gbps}, {4, 10 * gbps}, {4, 40 * gbps}, {8, 5 * gbps},
	{8, 40 * gbps}}

func stepped(f Flows, step units.Duration) Config {
	c := Default(f.N, f.Start)
	c.Kpfc, c.Step = 800_000, step
	return c
}

// TestReference compares with testdata/reference.csv, an independent integration of the same
// equations.
func TestReference(t *testing.T) {
	for _, ref := range references(t) {
		r := run(t, ref.config)
		// the mean over a tail depends on the phase of the limit cycle
		assert.InEpsilon(t, ref.rate, float64(r.Rate)/1e9, 0.011, ref.name)
		assert.Equal(t, ref.pauses, r.Pauses, ref.name)
		if ref.pauses > 0 {
			assert.InDelta(t, ref.lost, r.Lost, 0.1*ref.lost, ref.name)
			continue
		}
		assert.InEpsilon(t, ref.max, r.QueueMax, 0.01, ref.name)
		assert.Zero(t, r.Lost, ref.name)
	}
}

type reference struct {
	name      string
	config    Config
	rate, max float64 // Gb/s, packets
	lost      float64
	pauses    int
}

func references(t *testing.T) (refs []reference) {
	f, err := os.Open("testdata/reference.csv")
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		v := make([]float64, len(row))
		for i := 1; i < len(row); i++ {
			v[i], err = strconv.ParseFloat(row[i], 64)
			require.NoError(t, err)
		}
		c := Default(int(v[5]), units.BitRate(v[6])*gbps)
		c.AsPublished = row[0] == "repo"
		c.Kmin, c.Kmax, c.Pmax = units.Bytes(v[1])*1000, units.Bytes(v[2])*1000, v[3]
		c.Kpfc, c.Tail = units.Bytes(v[4])*1000, 10*ms
		refs = append(refs, reference{fmt.Sprint(row[:7]), c, v[7], v[8], v[9], int(v[10])})
	}
	return refs
}

// TestDirections checks the trends that section 4 describes for figures 6 and 7.
func TestDirections(t *testing.T) {
	lost := func(n int, change func(*Config)) float64 {
		c := Default(n, 40*gbps)
		c.Kpfc = 800_000
		if change != nil {
			change(&c)
		}
		return run(t, c).Lost
	}
	assert.Less(t, lost(4, nil), lost(8, nil), "more flows lose more")
	assert.LessOrEqual(t, lost(2, nil), lost(4, nil), "more flows lose more")
	assert.Zero(t, lost(8, func(c *Config) {
		c.Flows[0].Start = 5 * gbps
	}), "a slow start loses nothing")
	assert.Greater(t, lost(8, func(c *Config) {
		c.Kpfc = 300_000
	}), 2*lost(8, nil), "an early pause fills S1")
	assert.Less(t, lost(8, func(c *Config) {
		c.Kpfc, c.XON = 300_000, 250_000
	}), 0.3*lost(8, func(c *Config) { c.Kpfc = 300_000 }))

	before := math.Inf(1)
	for kpfc := units.Bytes(200_000); kpfc <= 900_000; kpfc += 100_000 {
		now := lost(8, func(c *Config) { c.Kpfc = kpfc })
		assert.Less(t, now, before, "at %v", kpfc)
		before = now
	}
	before = 0
	for _, pause := range []units.Duration{100, 200, 400, 839, 1500} {
		now := lost(8, func(c *Config) { c.Kpfc, c.Pause = 300_000, pause*us })
		assert.Greater(t, now, before, "for %v", pause)
		before = now
	}
	low, high := Default(8, 5*gbps), Default(8, 5*gbps)
	high.Kmin, high.Kmax = 200_000, 400_000
	low.Kpfc, high.Kpfc = 800_000, 800_000
	assert.Greater(t, run(t, high).Queue, 2*run(t, low).Queue,
		"a higher threshold leaves a longer queue")
}

// TestUplink checks that packets are conserved with queues in series.
func TestUplink(t *testing.T) {
	for _, f := range starts {
		c := Default(f.N, f.Start)
		c.Uplink, c.XON = 100*gbps, 250_000
		r := run(t, c)
		assert.InEpsilon(t, r.Arrived, r.Sent+r.Lost+r.Backlog, 1e-9, "%v", f)
		assert.LessOrEqual(t, r.Utilisation, 1.)
		assert.LessOrEqual(t, r.UpstreamMax, 1000.)
	}
}

// TestTwoGroups checks that flows with different start rates converge.
func TestTwoGroups(t *testing.T) {
	c := endless(1, 4*us)
	c.Flows = []Flows{{1, 30 * gbps}, {1, 10 * gbps}}
	r := run(t, c)
	assert.InEpsilon(t, float64(20*gbps), float64(r.Rates[0]), 1e-3)
	assert.InEpsilon(t, float64(20*gbps), float64(r.Rates[1]), 1e-3)

	one := run(t, Default(8, 40*gbps))
	c = Default(8, 40*gbps)
	c.Flows = []Flows{{3, 40 * gbps}, {5, 40 * gbps}}
	two := run(t, c)
	assert.InEpsilon(t, one.Lost, two.Lost, 1e-6, "identical flows behave as one group")
}

func TestSeries(t *testing.T) {
	c := Default(8, 40*gbps)
	c.Every = 100 * us
	s := run(t, c).Series
	require.Len(t, s.Time, 500)
	assert.InDelta(t, 0.05, s.Time[499], 1e-9)
	for _, y := range [][]float64{s.Rate, s.Queue, s.Upstream, s.Lost} {
		assert.Len(t, y, 500)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"no flows":                         func(c *Config) { c.Flows = nil },
		"0 flows":                          func(c *Config) { c.Flows[0].N = 0 },
		"at 0 to 40Gb/s":                   func(c *Config) { c.Flows[0].Start = 41 * gbps },
		"rate 0":                           func(c *Config) { c.Rate = 0; c.Flows[0].Start = 0 },
		"packet -1":                        func(c *Config) { c.Packet = -1 },
		"gain NaN":                         func(c *Config) { c.Gain = math.NaN() },
		"gain 1":                           func(c *Config) { c.Gain = 1 },
		"Kmin < Kmax":                      func(c *Config) { c.Kmax = c.Kmin },
		"Pmax NaN":                         func(c *Config) { c.Pmax = math.NaN() },
		"Pmax 1.1":                         func(c *Config) { c.Pmax = 1.1 },
		"PFC at 300000B for 0s":            func(c *Config) { c.Pause = 0 },
		"XON":                              func(c *Config) { c.XON = c.Kpfc + 1 },
		"uplink":                           func(c *Config) { c.Uplink = c.Rate },
		"feedback delay 0s":                func(c *Config) { c.Delay = 0 },
		"tail":                             func(c *Config) { c.Tail = c.Horizon + 1 },
		"step 0":                           func(c *Config) { c.Step = 0 },
		"50ms in steps of 1ps, delay 85us": func(c *Config) { c.Step = 1 },
	} {
		c := Default(8, 40*gbps)
		change(&c)
		_, err := Run(c)
		assert.ErrorContains(t, err, want)
		_, err = FixedPoint(c)
		assert.Error(t, err)
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(Default(8, 40*gbps)); err != nil {
			b.Fatal(err)
		}
	}
}
