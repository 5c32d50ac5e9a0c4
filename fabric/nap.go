package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Naps configures how an idle poller sleeps. Frames that arrive during a nap wait until it ends.
// The zero value never sleeps.
type Naps struct {
	// Spin is how long the poller is idle before its first nap.
	Spin units.Duration
	// Short is the length of a nap; 0 means no naps.
	Short units.Duration
	// LongAfter is the idle time after which naps are Long instead of Short; 0 means never.
	LongAfter, Long units.Duration
	// Slack is the maximum by which a nap overruns its length.
	Slack units.Duration
}

// DefaultNaps is the policy of a goroce Host that sleeps when idle.
var DefaultNaps = Naps{
	Spin: 25 * units.Microsecond, Short: 5 * units.Microsecond,
	LongAfter: 250 * units.Microsecond, Long: 50 * units.Microsecond,
}

// Longest returns the maximum length of a nap.
func (n Naps) Longest() units.Duration { return max(n.Short, n.Long) + n.Slack }

func (n Naps) validate() error {
	if min(n.Spin, n.Short, n.LongAfter, n.Long, n.Slack) < 0 || n.LongAfter > 0 &&
		(n.Long == 0 || n.Short == 0) {
		return fmt.Errorf(
			"naps %+v: want no negative duration, and Short and Long set if LongAfter is", n)
	}
	return nil
}

// naps is the state of Naps.
type naps struct {
	Naps
	rng *rand.Rand
}

// at returns the last time not after now at which the poller checks its port and, if that is before
// now, the end of the nap that starts then. worked is when the poller last had work, resumed when
// it last got its core. The caller ends naps at the poller's deadline.
func (n *naps) at(now, worked, resumed units.Time) (start, end units.Time) {
	first := max(worked.Add(n.Spin), resumed)
	if n.Short == 0 || !now.After(first) {
		return now, now
	}
	length := n.Short
	if n.LongAfter > 0 {
		longAfter := worked.Add(n.LongAfter)
		var long units.Time // start of the first long nap
		if long = first; !longAfter.Before(first) {
			long = first.Add((longAfter.Sub(first)/n.Short + 1) * n.Short)
		}
		if !now.Before(long) {
			first, length = long, n.Long
		}
	}
	start = first.Add(now.Sub(first) / length * length)
	end = start.Add(length)
	if start < now && n.Slack > 0 {
		end = end.Add(units.Duration(n.rng.Int64N(int64(n.Slack) + 1)))
	}
	return start, end
}
