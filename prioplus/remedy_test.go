package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// remedies are our options against weaknesses of the paper's rules.
const remedies = ",room=on,patience=20"

const seeds = 4

// A flow that takes over from the channel below grows by a fraction of its window in two round
// trips, from one packet, which takes milliseconds. With room it begins with its share of what is
// missing.
func TestAdjacentChannelsHandOverSlowly(t *testing.T) {
	race.OneGoroutine(t)
	for _, c := range []struct {
		name             string
		paper, ours, way float64 // ms; paper's time is at least way times longer
	}{
		{"6 over 5", 2.5, 0.6, 5},
		{"6 over 2", 0.5, 0.3, 2},
		{"10 x 6 over 1", 0.3, 0.2, 2},
	} {
		paper := takeovers(t, "swift", "")[c.name].mean(t, seeds)
		ours := takeovers(t, "swift", remedies)[c.name].mean(t, seeds)
		t.Logf("%-14s paper %.2f ms, with room %.2f ms; stops of the higher ones %d, %d", c.name,
			paper.up, ours.up, paper.highStops, ours.highStops)
		assert.Greater(t, paper.up, c.paper, c.name)
		assert.Less(t, ours.up, c.ours, c.name)
		assert.Greater(t, paper.up, c.way*ours.up, c.name)
	}
}

// A flow that resumed with one packet and stops soon after estimates #flow from the ratio of the
// queue to that packet, some hundred where two is right; the link then idles until the estimate has
// decayed. With patience it does not estimate #flow until its window is a fair share.
func TestOverestimate(t *testing.T) {
	race.OneGoroutine(t)
	for _, c := range []struct {
		name        string
		paper, ours float64 // #flow
	}{
		{"6 over 5", 200, 5},
		{"6 over 2", 200, 60},
	} {
		paper := takeovers(t, "swift", "")[c.name].mean(t, seeds)
		ours := takeovers(t, "swift", remedies)[c.name].mean(t, seeds)
		t.Logf("%-14s paper #flow %.0f, %.2f ms idle; with patience %.0f, %.2f ms", c.name,
			paper.flows, paper.idle, ours.flows, ours.idle)
		assert.Greater(t, paper.flows, c.paper, c.name)
		assert.Less(t, ours.flows, c.ours, c.name)
		assert.Less(t, ours.idle, paper.idle/2, c.name)
		assert.Less(t, ours.recovery, paper.recovery, c.name)
	}
}

// late returns how long one more flow takes to get half of its share among n of its priority, and
// how fair the shares are in the end.
func late(t testing.TB, inner, more string, n int, seed uint64) (half float64) {
	m := newModel(plain, seed)
	for range n {
		m.add(t, "old", specOf(t, inner, "n=8,high=0,direct=0"+more, 4), 0, 0)
	}
	m.add(t, "new", specOf(t, inner, "n=8,high=0,direct=0"+more, 4), 2*units.Millisecond, 0)
	m.run(12 * units.Millisecond)
	return m.since(m.share("new"), 2*units.Millisecond, 0.5/float64(n+1))
}

// Swift's additive increase is for 150 flows: a latecomer among few gets its share in some hundred
// round trips. A larger increase costs little, since #flow divides it where flows are many.
func TestLatecomers(t *testing.T) {
	race.OneGoroutine(t)
	for _, n := range []int{4, 9} {
		for seed := range uint64(2) {
			paper, ours := late(t, "swift", "", n, seed), late(t, "swift:ai=2", remedies, n, seed)
			t.Logf("one more of %d flows: paper %.2f ms, with ai=2 %.2f ms to half of its share", n,
				paper, ours)
			assert.True(t, paper < 0 || paper > 6, "%v", paper)
			assert.Positive(t, ours)
			assert.Less(t, ours, 6.0)
		}
	}
}

// An incast of 300 flows fills the link as soon as #flow is estimated, with the remedies and
// without.
func TestIncast(t *testing.T) {
	for _, c := range []struct{ inner, more string }{{"swift", ""}, {"swift", remedies},
		{"swift:ai=2", remedies}, {"ledbat-dc", ""}} {
		m := newModel(plain, 1)
		for range 300 {
			m.add(t, "all", specOf(t, c.inner, "n=8,high=0,low=1,direct=0"+c.more, 4), 0, 250_000)
		}
		m.run(9 * units.Millisecond)
		stops, done := 0, units.Time(0)
		for _, s := range m.flows {
			assert.NotZero(t, s.done)
			stops += s.stops
			done = max(done, s.done)
		}
		busy := mean(m.share("")[units.Millisecond/m.bin : 6*units.Millisecond/m.bin])
		t.Logf("%s%s: %.1f %% of the link from 1 to 6 ms, the last after %v, %d stops", c.inner,
			c.more, 100*busy, done, stops)
		assert.Greater(t, busy, 0.92)
		assert.Less(t, done, units.Time(8000*us), "75 MB take 6 ms")
	}
}
