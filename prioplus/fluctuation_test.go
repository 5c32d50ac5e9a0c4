package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestFluctuation(t *testing.T) {
	paper := plain
	paper.LineRate, paper.Payload = 100*units.Gbps, 1000
	for _, c := range []struct {
		flows int
		inner string
		rate  units.BitRate
		want  float64 // us
	}{
		// the paper says 3.2: 1.8 above the target, 1.44 below
		{150, "swift", 100 * units.Gbps, 3.24},
		{1, "swift", 100 * units.Gbps, 0.0216},
		{150, "swift", 10 * units.Gbps, 32.4},
		{8, "swift:ai=1", units.Gbps, 115.2},
	} {
		spec, err := cc.Parse(c.inner)
		require.NoError(t, err)
		path := paper
		path.LineRate = c.rate
		a, err := Fluctuation(c.flows, spec, path)
		require.NoError(t, err)
		assert.InDelta(t, c.want, a.Microseconds(), 1e-3, "%+v", c)
	}
	for _, c := range []struct {
		flows       int
		inner, want string
	}{
		{0, "swift", "prioplus: fluctuation of 0 flows, want 1 or more"},
		{1, "ledbat-dc", "prioplus: the fluctuation of ledbat-dc is unknown, want swift " +
			"(section 4.3.2)"},
		{1, "swift:base_target=1us", "prioplus: cc: swift: base_target=1us cannot be given"},
	} {
		spec, err := cc.Parse(c.inner)
		require.NoError(t, err)
		_, err = Fluctuation(c.flows, spec, paper)
		assert.ErrorContains(t, err, c.want)
	}
}
