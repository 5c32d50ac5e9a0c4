package fabric

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// Events come in the order of time, and those of one instant in the order in which they were
// scheduled, whenever that was: the queue does what a stable sort does.
func TestEventsAreAStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type planned struct {
			at units.Time
			id int32
		}
		var q engine
		var plan, got []planned
		id := int32(0)
		add := func(ahead int64) {
			at := q.now + units.Time(ahead)
			q.schedule(at, calls, id)
			plan = append(plan, planned{at, id})
			id++
		}
		ahead := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1000),
			rapid.Int64Range(0, 1<<40))
		for range rapid.IntRange(1, 50).Draw(t, "first") {
			add(ahead.Draw(t, "ahead"))
		}
		until := units.Time(0)
		for len(got) < len(plan) {
			until += units.Time(ahead.Draw(t, "until"))
			for {
				e, ok := q.pop(until)
				if !ok {
					break
				}
				require.False(t, e.at.After(until))
				require.Equal(t, e.at, q.now)
				got = append(got, planned{e.at, e.id})
				for len(plan) < 200 && rapid.IntRange(0, 2).Draw(t, "more") == 0 {
					add(ahead.Draw(t, "ahead"))
				}
			}
			q.now = max(q.now, until)
		}
		slices.SortStableFunc(plan, func(a, b planned) int {
			return int(min(1, max(-1, a.at-b.at)))
		})
		require.Equal(t, plan, got)
	})
}

func TestAlarmsAreLazyAndOrdered(t *testing.T) {
	n := Star(Parts{}, 20, Link{Rate: units.Gbps})
	rng := rand.New(rand.NewPCG(1, 1))
	var a alarms
	for i := range 2000 {
		h := n.hosts[rng.IntN(20)]
		a.set(h, units.Time(i+rng.IntN(1000)))
	}
	last := units.Time(0)
	for len(a.heap) > 0 {
		at := a.next(1 << 40)
		assert.False(t, at.Before(last))
		h := a.take()
		assert.Equal(t, at, h.deadline)
		last = at
	}
	assert.Equal(t, never, a.next(0))
}

// The books are looked into: a frame that disappears, or a wrong account, is found.
func TestCheckFindsWhatIsMissing(t *testing.T) {
	full := func() (*Network, *Switch) {
		n := Star(Parts{}, 2, Link{Rate: units.Gbps})
		require.NoError(t, n.Build())
		s := n.switches[0]
		for range 3 {
			f := n.newFrame(&n.hosts[0].nic)
			f.resize(1000)
			n.sent(f, nil)
			require.True(t, s.admit(s.ports[0], &s.ports[1].queues[0], f))
			s.ports[1].enqueue(f, 0)
		}
		require.NoError(t, n.Check())
		return n, s
	}
	for name, spoil := range map[string]func(*Network, *Switch){
		"frame":   func(n *Network, _ *Switch) { n.injected++ },
		"twice":   func(n *Network, _ *Switch) { n.delivered++ },
		"queue":   func(_ *Network, s *Switch) { s.ports[1].queues[0].bytes++ },
		"buffer":  func(_ *Network, s *Switch) { s.stored-- },
		"account": func(_ *Network, s *Switch) { s.ports[0].groups[0].held -= 10 },
		"minus":   func(_ *Network, s *Switch) { s.ports[0].groups[1].headroom = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			n, s := full()
			spoil(n, s)
			assert.Error(t, n.Check())
		})
	}
}
