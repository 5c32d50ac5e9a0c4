package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestSteerables(t *testing.T) {
	assert.Equal(t, []string{"ledbat-dc", "swift"}, Steerables())
	for _, c := range []struct{ spec, want string }{
		{"swift", ""},
		{"swift:ai=0.3,beta=0.5", ""},
		{"ledbat-dc:gain=0.5", ""},
		{"ledbat", "cc: ledbat has no delay target to move, want ledbat-dc or swift"},
		{"dctcp", "cc: dctcp has no delay target to move, want ledbat-dc or swift"},
		{"swift:base_target=20us", "cc: swift: base_target=20us cannot be given to a flow with a " +
			"channel, which takes the place of " +
			"base_target, per_hop, fs_range, fs_min, fs_max, min_cwnd, max_cwnd, init_cwnd"},
		{"ledbat-dc:target=6us", "cc: ledbat-dc: target=6us cannot be given to a flow with a " +
			"channel, which takes the place of base, target, min_cwnd, max_cwnd, init_cwnd"},
	} {
		spec, err := Parse(c.spec)
		require.NoError(t, err)
		_, err = spec.Steered(plain4)
		if c.want == "" {
			require.NoError(t, err, c.spec)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

func steered(t testing.TB, spec string) Steerable {
	s, err := Parse(spec)
	require.NoError(t, err)
	a, err := s.Steered(plain4)
	require.NoError(t, err)
	a.Steer(60*us, 0.01, 1000)
	return a
}

// Whatever the algorithm is, the target, the window and the increase are those that were set.
func TestSteered(t *testing.T) {
	for _, c := range []struct {
		spec          string
		up, step, up2 float64 // from a window of 10 packets by one packet at 50 us, 10 below target
	}{
		{"swift:ai=1", 0.1, 3, 0.4},
		{"ledbat-dc:gain=1", 0.1 * 10 / 20, 3, 0.1*10/20 + 0.3}, // half of the distance to base
	} {
		a := steered(t, c.spec)
		a.Resume(10, 50*us)
		a.On(rtt(50*us, 1), at(100))
		assert.InDelta(t, 10+c.up, float64(a.Cwnd()), 1e-9, c.spec)
		assert.Equal(t, 60*us, a.Snapshot().Target, c.spec)

		a.Resume(10, 50*us)
		a.SetAI(a.AI(), Packets(c.step))
		a.On(rtt(50*us, 1), at(200))
		assert.InDelta(t, 10+c.up2, float64(a.Cwnd()), 1e-9, "%s with a step", c.spec)

		a.Resume(10, 80*us)
		d := a.On(rtt(80*us, 1), at(300))
		assert.Less(t, float64(a.Cwnd()), 10.0, "%s beyond the target", c.spec)
		assert.Equal(t, d, a.Decision(), c.spec)

		a.SetCwnd(1e9)
		assert.EqualValues(t, 1000, a.Cwnd(), c.spec)
		a.SetCwnd(0)
		assert.EqualValues(t, 0.01, a.Cwnd(), c.spec)
		a.Resume(0.5, 20*us)
		assert.Equal(t, 200*units.Mbps, a.Decision().Rate, "%s paces by the delay it resumed with",
			c.spec)

		a.Yield(at(400))
		assert.Equal(t, Yielded, a.Snapshot().Reason)
		assert.EqualValues(t, 1, a.Snapshot().Cuts[Yielded])
	}
}

// The window for the hosts' delay still limits a steered Swift.
func TestSteeredSwiftKeepsTheEndpointWindow(t *testing.T) {
	spec, err := Parse("swift:endpoint_target=10us,ai=1")
	require.NoError(t, err)
	a, err := spec.Steered(everything)
	require.NoError(t, err)
	a.Steer(30*us, 0.1, 500)
	a.SetCwnd(100)
	s := a.(*Swift)
	ev := rtt(60*us, 1)
	ev.Endpoint = 40 * us
	for i := range 100 {
		a.On(ev, at(float64(100*i)))
	}
	assert.Greater(t, float64(a.Cwnd()), 100.0, "20 us of fabric")
	assert.Less(t, s.endpoint.cwnd, 1.0)
	assert.Less(t, a.Decision().Window, units.Bytes(1000))
}
