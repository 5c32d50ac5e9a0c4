package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Finish runs until its condition holds, or returns the reason why it cannot. Conditions of earlier
// calls are not checked any more.
func TestFinish(t *testing.T) {
	const us = units.Microsecond
	net := star(2)
	c, err := sim.New(sim.Scenario{Topology: sim.On(net)})
	require.NoError(t, err)
	asked := 0
	after := func(d units.Duration) func(units.Time) bool {
		at := net.Now().Add(d)
		return func(now units.Time) bool { asked++; return !now.Before(at) }
	}
	require.NoError(t, c.Finish(t.Context(), units.Millisecond, after(100*us)))
	assert.Equal(t, units.Time(100*us), net.Now())
	assert.ErrorContains(t, c.Finish(t.Context(), 50*us, after(100*us)), "not over after 50us")
	asked = 0
	require.NoError(t, c.Finish(t.Context(), units.Millisecond, after(100*us)))
	assert.Equal(t, units.Time(250*us), net.Now())
	assert.Equal(t, 6, asked)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	assert.ErrorIs(t, c.Finish(ctx, units.Millisecond, after(100*us)), context.Canceled)
}
