package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// Formula (1) on the paper's machine, whose cache has 12 MiB in lines of 64 bytes.
func TestFormula1(t *testing.T) {
	for n, want := range map[int]Lines{1: 196608, 8: 24576, 16: 12288, 1000: 196, 1024: 192} {
		_, all := connections(t, "llc=12MiB,delta=off", make([]Share, n)...)
		emitAll(all, 1)
		for _, credits := range announcedCredits(all) {
			require.Equal(t, want, credits, "%d connections", n)
		}
	}
}

func TestLines(t *testing.T) {
	s := shiftOf(64)
	for bytes, want := range map[units.Bytes]Lines{0: 0, 1: 1, 64: 1, 65: 2, 4096: 64,
		7_900_000: 123438} {
		assert.Equal(t, want, s.lines(bytes), "%d bytes", bytes)
	}
}

// connections makes connections of one endpoint.
func connections(t *testing.T, text string, shares ...Share) (*Endpoint, []*Granter) {
	spec, err := Parse(text)
	require.NoError(t, err)
	ep := spec.Endpoint()
	var all []*Granter
	for _, s := range shares {
		_, g, err := ep.NewShare(path, s)
		require.NoError(t, err)
		g.Attach(&countingReporter{})
		all = append(all, g)
	}
	return ep, all
}

// emitAll has all granters emit CREDITs until none is due.
func emitAll(all []*Granter, now units.Time) {
	for spoken := true; spoken; {
		spoken = false
		for _, g := range all {
			if at := g.Next(); at != 0 && !at.After(now) {
				_, some := g.Emit(false, now)
				spoken = spoken || some
			}
		}
	}
}

func announcedCredits(all []*Granter) (c []Lines) {
	for _, g := range all {
		c = append(c, g.Credits())
	}
	return c
}

func TestConnectionsShareTheCacheByWeight(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off", Share{}, Share{Weight: 2}, Share{},
		Share{Weight: 4})
	emitAll(all, 1)
	assert.Equal(t, []Lines{2048, 4096, 2048, 8192}, announcedCredits(all))
}

// A new connection gets one packet's share first, and its full share when the others have shrunk.
func TestShareGrowsWhenOthersHaveShrunk(t *testing.T) {
	ep, all := connections(t, "llc=1MiB,delta=off", Share{})
	emitAll(all, 1)
	require.Equal(t, []Lines{16384}, announcedCredits(all))
	_, late, err := ep.New(path)
	require.NoError(t, err)
	late.Attach(&countingReporter{})
	emitAll([]*Granter{late}, 2)
	assert.EqualValues(t, 16, late.Credits(), "one packet")
	all = append(all, late)
	emitAll(all, 3)
	assert.Equal(t, []Lines{8192, 8192}, announcedCredits(all))
}

// The share of a connection that ends is distributed only after the time hold, so that a connection
// that comes back finds it.
func TestShareIsHeldForAWhile(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off,hold=1ms", Share{}, Share{})
	emitAll(all, 1)
	all[1].Attach(nil)
	now := units.Time(1).Add(500 * us)
	all[0].Delivered(64, now)
	all[0].Consumed(64, now)
	emitAll(all[:1], now)
	assert.EqualValues(t, 8192, all[0].Credits())
	now = now.Add(units.Millisecond)
	all[0].Delivered(64, now)
	all[0].Consumed(64, now)
	emitAll(all[:1], now)
	assert.EqualValues(t, 16384, all[0].Credits())
}

// With many connections not every new one makes all others shrink, and the reserve is small.
func TestFewSharesChangeForANewConnection(t *testing.T) {
	shares := make([]Share, 100)
	_, all := connections(t, "llc=12MiB,delta=off", shares...)
	emitAll(all, 1)
	assert.Equal(t, 100, all[0].pool.weights, "exact at first")
	ep := all[0].pool
	for want := 101; want < 120; want++ {
		if len(ep.members) < want {
			one, g, err := (&Endpoint{spec: Spec{settings: "llc=12MiB,delta=off"},
				pool: ep}).New(path)
			require.NoError(t, err)
			require.NotNil(t, one)
			before := ep.weights
			g.Attach(&countingReporter{})
			all = append(all, g)
			if ep.weights == before {
				assert.Zero(t, ep.shrinking)
			} else {
				assert.Contains(t, []int{104, 112, 120}, ep.weights)
			}
			emitAll(all, 1)
		}
	}
	for n := 1; n < 5000; n++ {
		up := roundUp(n)
		assert.True(t, up >= n && float64(up) <= float64(n)*9/8, "%d: %d", n, up)
		if n <= 16 {
			assert.Equal(t, n, up)
		}
	}
}

// With share=active the highest priority among the active connections shares the pool, and the
// others have one packet's share each.
func TestPriorityTakesThePool(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off,share=active", Share{Priority: 1},
		Share{Priority: 1}, Share{Priority: 7})
	now := units.Time(1)
	hear := func(some ...*Granter) {
		for _, g := range some {
			g.Delivered(64, now)
			g.Consumed(64, now)
		}
		emitAll(all, now)
	}
	hear()
	assert.Equal(t, []Lines{5461, 5461, 5461}, announcedCredits(all), "none is active")
	hear(all[0])
	assert.Equal(t, []Lines{16384 - 32, 16, 16}, announcedCredits(all),
		"one of low priority is active")
	hear(all[0], all[1], all[2])
	assert.Equal(t, []Lines{16, 16, 16384 - 32}, announcedCredits(all),
		"the one of high priority is active")
	for range 4 { // it no longer receives
		now = now.Add(60 * us)
		for _, g := range all[:2] {
			g.Delivered(64, now)
			g.Consumed(64, now)
		}
		emitAll(all, now)
	}
	assert.Equal(t, []Lines{8184, 8184, 16}, announcedCredits(all),
		"the one of high priority is inactive")
}

func TestClosedConnectionLeavesNothing(t *testing.T) {
	ep, all := connections(t, "llc=1MiB", Share{}, Share{})
	emitAll(all, 1)
	all[0].Delivered(4096, 2)
	require.EqualValues(t, 4096, ep.Sensor().Unconsumed())
	all[0].Attach(nil)
	assert.Zero(t, ep.Sensor().Unconsumed())
	assert.Equal(t, all[1].share, ep.pool.announced)
	assert.Len(t, ep.pool.members, 1)
}

// When a connection ends, its unconsumed data leaves the cache's account at once, not with the next
// message.
func TestClosedConnectionEndsItsState(t *testing.T) {
	ep, all := connections(t, "llc=1MiB", Share{}, Share{})
	emitAll(all, 1)
	all[0].Delivered(units.MiB, 1)
	require.Equal(t, S3, ep.Sensor().State())
	all[0].Attach(nil)
	spent := ep.Sensor().Spent(units.Time(1).Add(units.Second))
	assert.Zero(t, spent[S3])
	assert.Equal(t, units.Second, spent[S1])
}
