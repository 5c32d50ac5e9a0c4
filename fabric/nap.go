package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Naps say how a poller that finds nothing sleeps; what arrives meanwhile waits until it looks
// again. The zero value never sleeps.
type Naps struct {
	// Spin is how long it looks in vain before its first nap.
	Spin units.Duration
	// Short is how long it sleeps between two looks; 0: it does not.
	Short units.Duration
	// Weary is how long without work makes naps Long; 0: nothing does.
	Weary, Long units.Duration
	// Slack is by how much a nap is longer than it should be, at most.
	Slack units.Duration
}

// DefaultNaps are those of a goroce Host that sleeps when idle.
var DefaultNaps = Naps{
	Spin: 25 * units.Microsecond, Short: 5 * units.Microsecond,
	Weary: 250 * units.Microsecond, Long: 50 * units.Microsecond,
}

// Longest is how long a nap may take.
func (n Naps) Longest() units.Duration { return max(n.Short, n.Long) + n.Slack }

func (n Naps) validate() error {
	if min(n.Spin, n.Short, n.Weary, n.Long, n.Slack) < 0 || n.Weary > 0 &&
		(n.Long == 0 || n.Short == 0) {
		return fmt.Errorf("naps %+v: durations are not negative, and Weary needs Short and Long", n)
	}
	return nil
}

// naps are naps at work.
type naps struct {
	Naps
	rng *rand.Rand
}

// at returns the last moment not after now at which the poller looks, and, when that is before now,
// when the nap ends that began then. The poller worked last at a time, and has its core
// since another. Naps end before the poller's deadline, which is not looked at here.
func (n *naps) at(now, worked, resumed units.Time) (start, end units.Time) {
	first := max(worked.Add(n.Spin), resumed)
	if n.Short == 0 || !now.After(first) {
		return now, now
	}
	length := n.Short
	if n.Weary > 0 {
		weary := worked.Add(n.Weary)
		var long units.Time // the first long nap begins
		if long = first; !weary.Before(first) {
			long = first.Add((weary.Sub(first)/n.Short + 1) * n.Short)
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
