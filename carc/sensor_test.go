package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sensor returns a Sensor for a cache of 1200 lines, 200 of them for DDIO, with windows of 10 us.
func sensor() *Sensor {
	s := &Sensor{window: 10 * us}
	s.init(&options{llc: 1200 * 64, ddio: 200 * 64, receives: 4800 * 64, adapts: true})
	return s
}

// The states of figure 4 by the amount of unconsumed data, and the time in each.
func TestStates(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	lines := func(n Lines, want State) {
		s.onDelivered(max(0, units.Bytes(n)*64-s.unconsumed), now)
		s.onConsumed(max(0, s.unconsumed-units.Bytes(n)*64), now)
		assert.Equal(t, want, s.State(), "%d lines", n)
		now = now.Add(us)
	}
	for _, c := range []struct {
		n    Lines
		want State
	}{{0, S1}, {199, S1}, {200, S2}, {1199, S2}, {1200, S3}, {4799, S3}, {4800, S4}, {1300, S3},
		{10, S1}} {
		lines(c.n, c.want)
	}
	assert.Equal(t, [States]units.Duration{3 * us, 2 * us, 3 * us, us}, s.Spent(now))
	s.Receives(0, now)
	assert.Equal(t, S4, s.State(), "no receive is posted")
	s.Receives(64, now.Add(us))
	assert.Equal(t, S1, s.State())
	assert.Equal(t, 2*us, s.Spent(now.Add(us))[S4])
}

// runWindows runs n windows, and calls do in the middle of each.
func runWindows(s *Sensor, n int, now *units.Time, do func(now units.Time)) {
	for range n {
		*now = now.Add(5 * us)
		do(*now)
		*now = now.Add(5 * us)
		s.advance(*now)
	}
}

func nothing(units.Time) {}

// Idle is set after three windows in a row in which a twentieth of about the last eight windows was
// without data, and cleared likewise.
func TestIdle(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.advance(now)
	runWindows(s, 2, &now, nothing)
	assert.Zero(t, s.Flags())
	runWindows(s, 1, &now, nothing)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	s.onDelivered(64, now)
	runWindows(s, 15, &now, nothing)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	runWindows(s, 15, &now, nothing)
	assert.Zero(t, s.Flags())
	gap := func(gap units.Duration) func(units.Time) {
		return func(now units.Time) {
			s.onConsumed(64, now)
			s.onDelivered(64, now.Add(gap))
		}
	}
	runWindows(s, 50, &now, gap(us*4/10))
	assert.Zero(t, s.Flags(), "less than a twentieth")
	runWindows(s, 50, &now, gap(us*6/10))
	assert.Equal(t, cc.CacheIdle, s.Flags())
	for range 20 { // a message in every other window
		s.onDelivered(0, now)
		runWindows(s, 1, &now, func(now units.Time) { s.onConsumed(64, now) })
		runWindows(s, 1, &now, func(now units.Time) { s.onDelivered(64, now) })
	}
	assert.Equal(t, cc.CacheIdle, s.Flags())
}

// With reported polls, a program is idle only when its polls find nothing.
func TestIdlePolls(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.advance(now)
	runWindows(s, 6, &now, func(now units.Time) { s.Polled(false, now) })
	assert.Zero(t, s.Flags(), "no poll was empty")
	runWindows(s, 6, &now, func(now units.Time) { s.Polled(true, now) })
	assert.Equal(t, cc.CacheIdle, s.Flags())
}

// CacheBeyondDDIO is set at once, and cleared after three windows.
func TestBeyondDDIO(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.onDelivered(200*64, now)
	assert.Zero(t, s.Flags())
	s.onDelivered(64, now)
	assert.Equal(t, cc.CacheBeyondDDIO, s.Flags())
	s.onConsumed(64, now)
	runWindows(s, 3, &now, nothing)
	assert.Equal(t, cc.CacheBeyondDDIO, s.Flags())
	runWindows(s, 1, &now, nothing)
	assert.Zero(t, s.Flags())
}

// Each indication of imminent misses takes three windows, and approaching takes precedence over
// idle.
func TestApproaching(t *testing.T) {
	for name, sign := range map[string]func(s *Sensor, now units.Time){
		"unconsumed": func(s *Sensor, now units.Time) {
			s.onDelivered(1081*64, now)
			s.onConsumed(1081*64, now)
		},
		"counter": func(s *Sensor, now units.Time) { s.Missed(0.06, now) },
		"canary": func(s *Sensor, now units.Time) {
			for i := range 30 {
				s.Canary(units.Duration(20+80*(i%15/14))*units.Nanosecond, now) // two of thirty
			}
		},
		"cost": func(s *Sensor, now units.Time) {
			for range 30 {
				s.Cost(1, 64, 30*units.Nanosecond, now)
			}
		},
	} {
		s := sensor()
		now := units.Time(1)
		s.advance(now)
		calm := func(now units.Time) {
			s.Cost(1, 64, 20*units.Nanosecond, now)
			s.Missed(0.04, now)
			for range 30 {
				s.Canary(50*units.Nanosecond, now)
			}
		}
		runWindows(s, 5, &now, calm)
		assert.Equal(t, cc.CacheIdle, s.Flags(), name)
		runWindows(s, 2, &now, func(now units.Time) { sign(s, now) })
		assert.Zero(t, s.Flags()&cc.CacheApproaching, name)
		runWindows(s, 2, &now, func(now units.Time) { sign(s, now) })
		assert.Equal(t, cc.CacheApproaching, s.Flags()&(cc.CacheApproaching|cc.CacheIdle), name)
		assert.Positive(t, s.Cut(), name)
		runWindows(s, 80, &now, func(now units.Time) { s.Cost(1, 64, 20*units.Nanosecond, now) })
		assert.Zero(t, s.Flags()&cc.CacheApproaching, name)
		assert.Zero(t, s.Cut(), name)
	}
}

// A message that was interrupted for a millisecond does not raise the cost of a line for long.
func TestCostOfAnInterruption(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.advance(now)
	for i := range 100 {
		runWindows(s, 1, &now, func(now units.Time) {
			for range 20 {
				s.Cost(0, 64, 20*units.Nanosecond, now)
			}
			if i%5 == 4 {
				s.Cost(0, 64, units.Millisecond, now)
			}
		})
		require.Zero(t, s.Flags()&cc.CacheApproaching, "window %d", i)
	}
}

// The cost of a kind of message expires when no more messages of that kind arrive.
func TestCostOfKindsThatCeased(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.advance(now)
	runWindows(s, 4, &now, func(now units.Time) { s.Cost(1, 64, 20*units.Nanosecond, now) })
	runWindows(s, 20, &now, func(now units.Time) { s.Cost(1, 64, 30*units.Nanosecond, now) })
	require.NotZero(t, s.Flags()&cc.CacheApproaching)
	now = now.Add(2 * units.Second)
	runWindows(s, steadyWindows, &now, func(now units.Time) {
		s.Cost(0, 64, 20*units.Nanosecond, now)
	})
	assert.Zero(t, s.Flags()&cc.CacheApproaching)
}

// A window in which reads miss takes an eighth of the remaining credits, one in which they do not
// returns a thirty-second of all; each step waits until the data being read arrived after the
// previous step.
func TestCut(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.onDelivered(1200*64, now)
	missed := func(now units.Time) { s.Missed(1, now) }
	runWindows(s, 10, &now, missed)
	assert.Equal(t, 1./8, s.Cut(), "the data being read arrived before the step")
	s.onConsumed(1199*64, now)
	runWindows(s, 10, &now, missed)
	assert.Equal(t, 1./8, s.Cut(), "the last line did, too")
	s.onDelivered(600*64, now)
	s.onConsumed(64, now)
	runWindows(s, 10, &now, missed)
	assert.Equal(t, 1-7./8*7/8, s.Cut())
	runWindows(s, 10, &now, nothing)
	assert.Equal(t, 1-7./8*7/8, s.Cut(), "nothing is read")
	s.onConsumed(600*64, now)
	runWindows(s, 4, &now, nothing)
	assert.Equal(t, 1-7./8*7/8-4./32, s.Cut(), "no data is left that arrived before the step")
}

// A pause counts as as many windows as it lasts.
func TestSilence(t *testing.T) {
	s := sensor()
	s.advance(1)
	now := units.Time(1).Add(units.Second)
	s.onDelivered(64, now)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	require.Equal(t, S1, s.State())
}

// A slow program reports canaries rarely. Windows with too few canaries for a verdict count neither
// as near misses nor as calm, until nothing is unconsumed.
func TestFewCanaries(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.advance(now)
	s.onDelivered(1000, now)
	few := func(now units.Time) {
		for range minCanaries/2 + 1 {
			s.Canary(90*units.Nanosecond, now)
		}
	}
	runWindows(s, 2*steadyWindows-1, &now, few)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "a verdict takes two windows")
	runWindows(s, 1, &now, few)
	assert.NotZero(t, s.Flags()&cc.CacheApproaching)
	runWindows(s, 3*steadyWindows, &now, nothing)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "windows without canaries are calm")
	runWindows(s, 2*steadyWindows, &now, few)
	s.Canary(90*units.Nanosecond, now)
	s.onConsumed(1000, now)
	runWindows(s, steadyWindows+1, &now, nothing)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "an old canary is ignored")
}
