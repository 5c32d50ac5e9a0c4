package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// late returns a packet of data that waited for this host to poll.
func late(r cc.Granter, gap units.Duration, now units.Time) {
	r.Arrived(&cc.Arrival{Bytes: pkt, Gap: gap}, now)
}

// The window covers the fabric. In addition as much is in flight as the link carries while data
// waits here and tokens, for the same time, at the sender, up to a limit.
func TestWhatWaitsForHosts(t *testing.T) {
	for _, c := range []struct {
		gap   units.Duration
		waits units.Bytes // 12.5 KB in a microsecond
	}{
		{0, 0},
		{units.Microsecond, 25_000},
		{5 * us, 125_000},
		{20 * us, 500_000},
		{units.Second, 15 * 65_800},
	} {
		_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
		require.NoError(t, r.Receive(rts(10_000*pkt, 0), 1))
		require.Len(t, grants(r, 1), 43)
		for range 300 {
			late(r, c.gap, 2)
			grants(r, 2)
		}
		assert.InDelta(t, float64(c.waits), float64(r.pollBytes()), 100, "%v", c.gap)
		under := (r.limit - r.spent) * r.kw / r.k
		assert.InDelta(t, float64(65_800+c.waits), float64(under), 2*1538, "%v", c.gap)
		for range 300 {
			late(r, 0, 3)
			grants(r, 3)
		}
		assert.Less(t, r.pollBytes(), units.Bytes(100), "%v: it fades", c.gap)
	}
}

// A receiver that polled late grants in one TOKEN what it would have granted meanwhile, within the
// window, the demand and 16 tokens.
func TestLateTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		gap    units.Duration
		demand int // tokens
		want   int // tokens of one TOKEN, at most
	}{
		{"polled in time", "unsch=0,k=1pkt,cc=none", 0, 10_000, 1},
		{"late by one packet: 123 ns", "unsch=0,k=1pkt,cc=none", 125 * units.Nanosecond, 10_000, 2},
		{"late by 1 us: eight packets", "unsch=0,k=1pkt,cc=none", units.Microsecond, 10_000, 9},
		{"late by 100 us", "unsch=0,k=1pkt,cc=none", 100 * us, 10_000, 16},
		{"no more than is demanded", "unsch=0,k=1pkt,cc=none", 100 * us, 505, 0},
	} {
		_, r := pair(t, c.text, paper)
		require.NoError(t, r.Receive(rts(units.Bytes(c.demand)*pkt, 0), 1))
		grants(r, 1)
		most := units.Bytes(0)
		for range 500 {
			before := r.limit
			for range 32 { // a burst
				late(r, c.gap, 2)
			}
			for _, n := range grants(r, 2) {
				granted := units.Bytes(n.Limit) - before
				before = units.Bytes(n.Limit)
				require.LessOrEqual(t, granted, 16*units.Bytes(pkt), c.name)
				require.Equal(t, granted/pkt*1538, n.Releases, "%s: so much of the link", c.name)
				most = max(most, granted)
			}
			require.LessOrEqual(t, r.limit, units.Bytes(c.demand)*pkt, c.name)
			require.LessOrEqual(t, (r.limit-r.spent-r.k)*r.kw, (r.window+r.pollBytes())*r.k, c.name)
		}
		if c.want > 0 {
			assert.Equal(t, c.want, int(most/pkt), c.name)
		}
		assert.EqualValues(t, r.limit, r.Stats().Granted, c.name)
	}
}

// The time that tokens wait for the sender to poll does not count as their age.
func TestAgeOfTokensOfALateSender(t *testing.T) {
	for _, c := range []struct {
		gap, lifetime units.Duration
	}{{0, 20 * us}, {10 * us, 40 * us}, {100 * us, 220 * us}} {
		d := newDesk(t, "unsch=0,k=1pkt,age=20us")
		s := d.gate.(*Sender)
		d.post(100)
		d.checkRTS(100, 0, 0, 0)
		for range 200 {
			n := cc.ControlMessage{Kind: cc.TOKEN, Limit: 2 * pkt, Gap: c.gap}
			require.NoError(t, s.Receive(&n, d.backlog(), d.now))
		}
		assert.InDelta(t, c.lifetime.Microseconds(), s.lifetime().Microseconds(), 0.01)
		now, b := d.now, d.backlog()
		assert.Equal(t, now.Add(s.lifetime()), s.Next(), "%v: it wakes to discard them", c.gap)
		out := cc.Outgoing{Bytes: pkt, Message: pkt, Backlog: b}
		assert.True(t, s.Ready(&out, now.Add(s.lifetime()-us)), "%v", c.gap)
		assert.False(t, s.Ready(&out, now.Add(s.lifetime()+us)), "%v", c.gap)
	}
}

// Where the line rate is a guess, a TOKEN is sent when it can grant 16 tokens, or all that is
// demanded, whatever the hosts' gaps are. Four BDPs are in flight, gaps add nothing, and the round
// trip, a guess, too, does not make the sender discard anything.
func TestTokensOfAGuessedPath(t *testing.T) {
	guess := paper
	guess.Guessed = true
	for _, gap := range []units.Duration{0, 100 * us} {
		g, r := pair(t, "unsch=0,k=1pkt,cc=none", guess)
		require.NoError(t, r.Receive(rts(10_000*pkt, 0), 1))
		grants(r, 1)
		assert.InDelta(t, 4*65_800, float64((r.limit-r.spent)*r.kw/r.k), 17*1538, "a window")
		for i := range 160 {
			late(r, gap, 2)
			before := r.limit
			for _, n := range grants(r, 2) {
				require.EqualValues(t, 16*pkt, units.Bytes(n.Limit)-before, "packet %d", i)
				before = units.Bytes(n.Limit)
			}
		}
		assert.Greater(t, (r.limit-r.spent)*r.kw/r.k, units.Bytes(4*65_800-17*1538), "%v", gap)
		g.Posted(10_000*pkt, cc.Backlog{Waits: 10_000 * pkt}, 1)
		for i := range 64 { // a round trip apart: a real-time BDP would be one packet
			n := cc.ControlMessage{Kind: cc.TOKEN, Limit: uint32((i + 1) * pkt), Gap: gap}
			require.NoError(t, g.Receive(&n, cc.Backlog{Waits: 10_000 * pkt},
				units.Time(1+i*3_000_000)))
		}
		assert.Zero(t, g.Stats().Discarded)
	}
}

// The last tokens do not wait for more demand.
func TestAllIsGrantedOnAGuessedPath(t *testing.T) {
	guess := paper
	guess.Guessed = true
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", guess)
	require.NoError(t, r.Receive(rts(777*pkt, 0), 1))
	for grants(r, 1); r.spent < 777*pkt; grants(r, 2) {
		require.Positive(t, r.limit-r.spent, "something is in flight")
		late(r, us, 2)
	}
	assert.EqualValues(t, 777*pkt, r.limit)
}
