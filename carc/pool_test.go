package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// Formula (1) on the paper's machine, whose cache has 12 MiB in lines of 64 bytes. 1000 weights
// count as 1024.
func TestFormula1(t *testing.T) {
	for n, want := range map[int]Lines{1: 196608, 8: 24576, 16: 12288, 1000: 192, 1024: 192} {
		_, all := connections(t, "llc=12MiB,delta=off", make([]Share, n)...)
		speak(all, 1)
		for _, credits := range told(all) {
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

// connections makes some of one endpoint.
func connections(t *testing.T, text string, shares ...Share) (*Endpoint, []*Granter) {
	spec, err := Parse(text)
	require.NoError(t, err)
	ep := spec.Endpoint()
	var all []*Granter
	for _, s := range shares {
		_, g, err := ep.NewShare(path, s)
		require.NoError(t, err)
		g.Attach(&bell{})
		all = append(all, g)
	}
	return ep, all
}

// speak has all say what they have to say, until none has.
func speak(all []*Granter, now units.Time) {
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

func told(all []*Granter) (c []Lines) {
	for _, g := range all {
		c = append(c, g.Credits())
	}
	return c
}

func TestConnectionsShareTheCacheByWeight(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off", Share{}, Share{Weight: 2}, Share{},
		Share{Weight: 4})
	speak(all, 1)
	assert.Equal(t, []Lines{2048, 4096, 2048, 8192}, told(all))
}

// One that comes is told of a packet first, and of its share when the others have shrunk to theirs.
func TestShareGrowsWhenOthersHaveShrunk(t *testing.T) {
	ep, all := connections(t, "llc=1MiB,delta=off", Share{})
	speak(all, 1)
	require.Equal(t, []Lines{16384}, told(all))
	_, late, err := ep.New(path)
	require.NoError(t, err)
	late.Attach(&bell{})
	speak([]*Granter{late}, 2)
	assert.EqualValues(t, 16, late.Credits(), "a packet")
	all = append(all, late)
	speak(all, 3)
	assert.Equal(t, []Lines{8192, 8192}, told(all))
}

// What a connection leaves is given away when the pool has been as it is for a while: one that
// comes back finds it.
func TestShareIsHeldForAWhile(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off,hold=1ms", Share{}, Share{})
	speak(all, 1)
	all[1].Attach(nil)
	now := units.Time(1).Add(500 * us)
	all[0].Delivered(64, now)
	all[0].Consumed(64, now)
	speak(all[:1], now)
	assert.EqualValues(t, 8192, all[0].Credits())
	now = now.Add(units.Millisecond)
	all[0].Delivered(64, now)
	all[0].Consumed(64, now)
	speak(all[:1], now)
	assert.EqualValues(t, 16384, all[0].Credits())
}

// Of many connections not every one that comes has all others shrink, and little is in hand for it.
func TestFewAreToldWhenOneComes(t *testing.T) {
	shares := make([]Share, 100)
	_, all := connections(t, "llc=12MiB,delta=off", shares...)
	speak(all, 1)
	assert.Equal(t, 104, all[0].pool.weights)
	ep := all[0].pool
	for want := 104; want < 120; want++ {
		if len(ep.members) < want {
			one, g, err := (&Endpoint{spec: Spec{settings: "llc=12MiB,delta=off"},
				pool: ep}).New(path)
			require.NoError(t, err)
			require.NotNil(t, one)
			g.Attach(&bell{})
			all = append(all, g)
			if ep.weights == 104 {
				assert.Zero(t, ep.shrinking)
			}
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

// With share=active the highest priority of those that messages come of has the pool, and the
// others a packet each.
func TestPriorityTakesThePool(t *testing.T) {
	_, all := connections(t, "llc=1MiB,delta=off,share=active", Share{Priority: 1},
		Share{Priority: 1}, Share{Priority: 7})
	now := units.Time(1)
	hear := func(some ...*Granter) {
		for _, g := range some {
			g.Delivered(64, now)
			g.Consumed(64, now)
		}
		speak(all, now)
	}
	hear()
	assert.Equal(t, []Lines{5461, 5461, 5461}, told(all), "nobody is active")
	hear(all[0])
	assert.Equal(t, []Lines{16384 - 32, 16, 16}, told(all), "one of the low ones is")
	hear(all[0], all[1], all[2])
	assert.Equal(t, []Lines{16, 16, 16384 - 32}, told(all), "the high one comes")
	for range 4 { // it has nothing to send any more
		now = now.Add(60 * us)
		for _, g := range all[:2] {
			g.Delivered(64, now)
			g.Consumed(64, now)
		}
		speak(all, now)
	}
	assert.Equal(t, []Lines{8184, 8184, 16}, told(all), "the high one is gone")
}

func TestClosedConnectionLeavesNothing(t *testing.T) {
	ep, all := connections(t, "llc=1MiB", Share{}, Share{})
	speak(all, 1)
	all[0].Delivered(4096, 2)
	require.EqualValues(t, 4096, ep.Sensor().Unconsumed())
	all[0].Attach(nil)
	assert.Zero(t, ep.Sensor().Unconsumed())
	assert.Equal(t, all[1].share, ep.pool.told)
	assert.Len(t, ep.pool.members, 1)
}

// What a connection leaves unconsumed is out of the cache when it ends, not when another message
// comes.
func TestClosedConnectionEndsItsState(t *testing.T) {
	ep, all := connections(t, "llc=1MiB", Share{}, Share{})
	speak(all, 1)
	all[0].Delivered(units.MiB, 1)
	require.Equal(t, S3, ep.Sensor().State())
	all[0].Attach(nil)
	spent := ep.Sensor().Spent(units.Time(1).Add(units.Second))
	assert.Zero(t, spent[S3])
	assert.Equal(t, units.Second, spent[S1])
}
