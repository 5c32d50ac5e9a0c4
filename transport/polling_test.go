package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// round polls an endpoint in a round whose two phases take the given times.
func (p *pair) round(e *Endpoint, receives, transmits units.Duration) {
	e.Loop().Receive(p.now)
	p.now = p.now.Add(receives)
	e.Loop().Transmit(p.now)
	p.now = p.now.Add(transmits)
	e.Ended(p.now)
}

func TestPolling(t *testing.T) {
	const us = units.Microsecond
	p := newPair(t)
	p.round(p.a, us, us)
	assert.Equal(t, polling{Rounds: 1, Busy: 2 * us, BusyRounds: 1}, p.a.Stats().Polling)

	p.now = p.now.Add(minGap - 1)
	p.round(p.a, us, us)
	assert.Equal(t, polling{Rounds: 2, Busy: 4 * us, BusyRounds: 2}, p.a.Stats().Polling,
		"a round without work before it")

	p.now = p.now.Add(70 * us)
	p.round(p.a, maxPhase, us)
	assert.Equal(t, polling{Rounds: 3, Busy: 205 * us, BusyRounds: 3,
		Away: 70 * us, LongestGap: 70 * us}, p.a.Stats().Polling,
		"a nap")

	p.a.responseWait.onSent(p.now)
	p.now = p.now.Add(3000 * us)
	p.round(p.a, us, us)
	assert.Equal(t, polling{Rounds: 4, Busy: 207 * us, BusyRounds: 4,
		Away: 3070 * us, Stalled: 3000 * us, LongestGap: 3000 * us},
		p.a.Stats().Polling, "it began while an answer was expected, and counts in full")

	p.a.Loop().ResetLongestGap()
	p.now = p.now.Add(10 * us)
	p.round(p.a, us, 300*us)
	assert.Equal(t, polling{Rounds: 5, Busy: 208 * us, BusyRounds: 5,
		Away: 3380 * us, Stalled: 3000 * us, LongestGap: 300 * us},
		p.a.Stats().Polling, "a phase that was interrupted")

	p.a.responseWait.onSent(p.now)
	p.round(p.a, 400*us, us)
	assert.Equal(t, polling{Rounds: 6, Busy: 209 * us, BusyRounds: 6,
		Away: 3780 * us, Stalled: 3400 * us, LongestGap: 400 * us},
		p.a.Stats().Polling)
}

// Rounds that virtual time skips are not gaps.
func TestPollingInVirtualTime(t *testing.T) {
	p := newPair(t)
	p.a.Poll(p.now)
	p.a.responseWait.onSent(p.now)
	for range 10 {
		p.now = p.now.Add(units.Millisecond)
		p.a.Idle(p.now)
		p.a.Poll(p.now)
	}
	assert.Equal(t, polling{Rounds: 11}, p.a.Stats().Polling)
}

func TestPollingAllocatesNothing(t *testing.T) {
	p := newPair(t)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		p.now = p.now.Add(units.Millisecond)
		p.round(p.a, units.Millisecond, units.Millisecond)
	}))
	assert.Greater(t, p.a.Stats().Polling.Away, 300*units.Millisecond)
}

// All packets that wait in one gap of the peer report it, but it counts once.
func TestPeerAwayCountsOnce(t *testing.T) {
	const away = 40 * units.Microsecond // less than the timeout
	p, a, b, _ := timedPair(t, wire.FeatureTiming)
	before := p.a.Stats().Polling.PeerAway
	for range 20 {
		p.settle(units.Millisecond)
		p.a.Idle(p.now)
		p.b.Idle(p.now)
		p.b.Poll(p.now)
		for range 4 {
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 3000)}})
		}
		p.a.Poll(p.now)
		p.now = p.now.Add(away)
		p.a.Idle(p.now)
		p.b.Poll(p.now)
		require.Len(t, p.await(a, 4), 4)
	}
	assert.InDelta(t, float64(20*away), float64(p.a.Stats().Polling.PeerAway-before),
		float64(20*2*units.Microsecond))
	assert.Zero(t, p.b.Stats().Polling.PeerAway, "it sends nothing")
}

func TestAbsence(t *testing.T) {
	type sample struct{ at, away, counts units.Duration }
	for name, samples := range map[string][]sample{
		"one gap, many packets": {{1000, 0, 0}, {4000, 3000, 3000}, {4010, 3000, 0},
			{4020, 3001, 1}},
		"two gaps, one packet": {{1000, 0, 0}, {9000, 5000, 5000}},
		"a second gap before all was worked": {{1000, 0, 0}, {4000, 3000, 3000},
			{6000, 4900, 1900}},
		"a second gap":        {{1000, 0, 0}, {4000, 3000, 3000}, {5000, 900, 900}},
		"no more than passed": {{1000, 0, 0}, {4000, 9000, 3000}},
	} {
		var a absence
		for i, s := range samples {
			assert.Equal(t, s.counts, a.onSample(s.away, units.Time(0).Add(s.at)), "%s: %d", name,
				i)
		}
	}
}
