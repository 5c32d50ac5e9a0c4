package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sensor is of a cache of 1200 lines, with 200 for devices, and windows of 10 us.
func sensor() *Sensor {
	s := &Sensor{window: 10 * us}
	s.init(&options{llc: 1200 * 64, ddio: 200 * 64, receives: 4800 * 64, adapts: true})
	return s
}

// The states of figure 4, by what is unconsumed, and the time in each.
func TestStates(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	lines := func(n Lines, want State) {
		s.grew(max(0, units.Bytes(n)*64-s.unconsumed), now)
		s.shrank(max(0, s.unconsumed-units.Bytes(n)*64), now)
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

// windows lets some pass, and does something in the middle of each.
func windows(s *Sensor, n int, now *units.Time, do func(now units.Time)) {
	for range n {
		*now = now.Add(5 * us)
		do(*now)
		*now = now.Add(5 * us)
		s.pass(*now)
	}
}

func nothing(units.Time) {}

// A twentieth of the last eight windows or so without data, three windows in a row, is idle; so it
// ends.
func TestIdle(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.pass(now)
	windows(s, 2, &now, nothing)
	assert.Zero(t, s.Flags())
	windows(s, 1, &now, nothing)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	s.grew(64, now)
	windows(s, 15, &now, nothing)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	windows(s, 15, &now, nothing)
	assert.Zero(t, s.Flags())
	gap := func(gap units.Duration) func(units.Time) {
		return func(now units.Time) {
			s.shrank(64, now)
			s.grew(64, now.Add(gap))
		}
	}
	windows(s, 50, &now, gap(us*4/10))
	assert.Zero(t, s.Flags(), "not a twentieth")
	windows(s, 50, &now, gap(us*6/10))
	assert.Equal(t, cc.CacheIdle, s.Flags())
	for range 20 { // a message for each other window
		s.grew(0, now)
		windows(s, 1, &now, func(now units.Time) { s.shrank(64, now) })
		windows(s, 1, &now, func(now units.Time) { s.grew(64, now) })
	}
	assert.Equal(t, cc.CacheIdle, s.Flags())
}

// Where the program says how it polls, it idles only when its polls are in vain.
func TestIdlePolls(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.pass(now)
	windows(s, 6, &now, func(now units.Time) { s.Polled(false, now) })
	assert.Zero(t, s.Flags(), "it does other things")
	windows(s, 6, &now, func(now units.Time) { s.Polled(true, now) })
	assert.Equal(t, cc.CacheIdle, s.Flags())
}

// Beyond the NIC's part of the cache is said at once, and taken back after three windows.
func TestBeyondDDIO(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.grew(200*64, now)
	assert.Zero(t, s.Flags())
	s.grew(64, now)
	assert.Equal(t, cc.CacheBeyondDDIO, s.Flags())
	s.shrank(64, now)
	windows(s, 3, &now, nothing)
	assert.Equal(t, cc.CacheBeyondDDIO, s.Flags())
	windows(s, 1, &now, nothing)
	assert.Zero(t, s.Flags())
}

// Each sign that reads are about to miss, for three windows; and approaching wins over idle.
func TestApproaching(t *testing.T) {
	for name, sign := range map[string]func(s *Sensor, now units.Time){
		"unconsumed": func(s *Sensor, now units.Time) {
			s.grew(1081*64, now)
			s.shrank(1081*64, now)
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
		s.pass(now)
		calm := func(now units.Time) {
			s.Cost(1, 64, 20*units.Nanosecond, now)
			s.Missed(0.04, now)
			for range 30 {
				s.Canary(50*units.Nanosecond, now)
			}
		}
		windows(s, 5, &now, calm)
		assert.Equal(t, cc.CacheIdle, s.Flags(), name)
		windows(s, 2, &now, func(now units.Time) { sign(s, now) })
		assert.Zero(t, s.Flags()&cc.CacheApproaching, name)
		windows(s, 2, &now, func(now units.Time) { sign(s, now) })
		assert.Equal(t, cc.CacheApproaching, s.Flags()&(cc.CacheApproaching|cc.CacheIdle), name)
		assert.Positive(t, s.Cut(), name)
		windows(s, 80, &now, func(now units.Time) { s.Cost(1, 64, 20*units.Nanosecond, now) })
		assert.Zero(t, s.Flags()&cc.CacheApproaching, name)
		assert.Zero(t, s.Cut(), name)
	}
}

// A message in which the processor did something else for a millisecond does not make lines dear.
func TestCostOfAnInterruption(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.pass(now)
	for i := range 100 {
		windows(s, 1, &now, func(now units.Time) {
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

// What a kind of messages cost when the last of them came says nothing for long.
func TestCostOfKindsThatCeased(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.pass(now)
	windows(s, 4, &now, func(now units.Time) { s.Cost(1, 64, 20*units.Nanosecond, now) })
	windows(s, 20, &now, func(now units.Time) { s.Cost(1, 64, 30*units.Nanosecond, now) })
	require.NotZero(t, s.Flags()&cc.CacheApproaching)
	now = now.Add(2 * units.Second)
	windows(s, steady, &now, func(now units.Time) { s.Cost(0, 64, 20*units.Nanosecond, now) })
	assert.Zero(t, s.Flags()&cc.CacheApproaching)
}

// δ of other memory traffic: an eighth of what is left less for a window in which reads miss, a
// thirty-second of all more for one in which they do not, each when what is read came after the
// step before.
func TestCut(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.grew(1200*64, now)
	missed := func(now units.Time) { s.Missed(1, now) }
	windows(s, 10, &now, missed)
	assert.Equal(t, 1./8, s.Cut(), "what is read came before")
	s.shrank(1199*64, now)
	windows(s, 10, &now, missed)
	assert.Equal(t, 1./8, s.Cut(), "the last line of it did")
	s.grew(600*64, now)
	s.shrank(64, now)
	windows(s, 10, &now, missed)
	assert.Equal(t, 1-7./8*7/8, s.Cut())
	windows(s, 10, &now, nothing)
	assert.Equal(t, 1-7./8*7/8, s.Cut(), "nothing is read")
	s.shrank(600*64, now)
	windows(s, 4, &now, nothing)
	assert.Equal(t, 1-7./8*7/8-4./32, s.Cut(), "nothing is left that came before")
}

// A silence is as many windows as it lasts.
func TestSilence(t *testing.T) {
	s := sensor()
	s.pass(1)
	now := units.Time(1).Add(units.Second)
	s.grew(64, now)
	assert.Equal(t, cc.CacheIdle, s.Flags())
	require.Equal(t, S1, s.State())
}

// A slow program has a canary now and then: windows with fewer than tell are neither near nor calm,
// until nothing is unconsumed.
func TestFewCanaries(t *testing.T) {
	s := sensor()
	now := units.Time(1)
	s.pass(now)
	s.grew(1000, now)
	few := func(now units.Time) {
		for range fewest/2 + 1 {
			s.Canary(90*units.Nanosecond, now)
		}
	}
	windows(s, 2*steady-1, &now, few)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "two windows each tell")
	windows(s, 1, &now, few)
	assert.NotZero(t, s.Flags()&cc.CacheApproaching)
	windows(s, 3*steady, &now, nothing)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "without any it is calm")
	windows(s, 2*steady, &now, few)
	s.Canary(90*units.Nanosecond, now)
	s.shrank(1000, now)
	windows(s, steady+1, &now, nothing)
	assert.Zero(t, s.Flags()&cc.CacheApproaching, "and one of long ago says nothing")
}
