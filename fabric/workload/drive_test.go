package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// drive runs a Reactive over a network in which a flow takes as long as take says, until it
// has no more, or stop says so. It checks that flows come in order of time.
func drive(t require.TestingT, r Reactive, take func(Flow) units.Duration,
	stop func() bool) []Result {
	var flying, done []Result // flying is in no order: there are few
	now := units.Time(0)
	for stop == nil || !stop() {
		next, earliest := -1, units.Time(0)
		for i, f := range flying {
			if next < 0 || f.Done.Before(earliest) {
				next, earliest = i, f.Done
			}
		}
		at, ok := r.Peek()
		switch {
		case ok && (next < 0 || !earliest.Before(at)):
			f, ok := r.Next()
			require.True(t, ok)
			require.Equal(t, at, f.At)
			require.False(t, f.At.Before(now), "flow of %v at %v", f.At, now)
			now = at
			flying = append(flying, Result{Flow: f, Done: f.At.Add(take(f))})
		case next >= 0:
			now = earliest
			f := flying[next]
			flying = append(flying[:next], flying[next+1:]...)
			done = append(done, f)
			r.Done(f.Flow, now)
		default:
			_, ok := r.Next()
			require.False(t, ok)
			require.False(t, r.Pending(), "waits for a flow that nobody has")
			return done
		}
	}
	return done
}

// flows takes up to n flows of a source.
func flows(s Source, n int) []Flow {
	var all []Flow
	for len(all) < n {
		f, ok := s.Next()
		if !ok {
			break
		}
		all = append(all, f)
	}
	return all
}

// begin is the Source of traffic that is known to be well described.
func begin[S Source](t testing.TB, traffic interface{ Source() (S, error) }) S {
	t.Helper()
	s, err := traffic.Source()
	require.NoError(t, err)
	return s
}
