package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

func specOf(t testing.TB, inner, channels string, priority int) Spec {
	spec, err := cc.Parse(inner)
	require.NoError(t, err)
	ch, err := ParseChannels(channels)
	require.NoError(t, err)
	return Spec{spec, ch, priority}
}

// takeover is n flows of a higher priority over n of a lower one: the higher ones start at 2 ms and
// end at 6 ms.
type takeover struct {
	n         int
	high, low Spec
	partial   bool

	up        float64 // ms until the higher ones have the link
	recovery  float64 // ms after their end until the link is full again
	idle      float64 // total ms of idle link in the 2 ms after their end
	lowStops  int
	highStops int
	flows     float64 // largest #flow of a lower flow
}

func (k *takeover) run(t testing.TB, seed uint64) {
	m := newModel(plain, seed)
	m.partial = k.partial
	for range k.n {
		m.add(t, "low", k.low, 0, 0)
		m.add(t, "high", k.high, 2*units.Millisecond, 0).stopAt(6 * units.Millisecond)
	}
	m.run(10 * units.Millisecond)
	all := m.share("")
	k.up = m.since(m.share("high"), 2*units.Millisecond, 0.95)
	k.recovery = m.since(all, 6*units.Millisecond, 0.9)
	k.idle = 2 * (1 - mean(all[6*units.Millisecond/m.bin:8*units.Millisecond/m.bin]))
	k.lowStops, k.highStops, k.flows = 0, 0, 0
	for _, s := range m.flows {
		if s.name == "low" {
			k.lowStops += s.stops
			k.flows = max(k.flows, s.mostFlows)
		} else {
			k.highStops += s.stops
		}
	}
}

// takeovers are cases checked in another packet model, with parameters for all flows.
func takeovers(t testing.TB, inner, more string) map[string]*takeover {
	two := func(n, high, low int, options string) *takeover {
		return &takeover{n: n, high: specOf(t, inner, "n=8,"+options+more, high-1),
			low: specOf(t, inner, "n=8,high=0,low=1,direct=0"+more, low-1)}
	}
	return map[string]*takeover{
		"6 over 5":      two(2, 6, 5, "high=0,low=1,direct=0"),
		"6 over 2":      two(2, 6, 2, "high=0,low=0,direct=0"),
		"10 x 6 over 1": two(10, 6, 1, "high=0,low=0,direct=0"),
	}
}

// mean returns the means over some seeds; flows is the maximum.
func (k takeover) mean(t testing.TB, seeds int) takeover {
	sum := takeover{}
	for seed := range uint64(seeds) {
		k.run(t, seed)
		if k.up < 0 {
			k.up = 4 // not before they ended
		}
		sum.up += k.up / float64(seeds)
		sum.recovery += k.recovery / float64(seeds)
		sum.idle += k.idle / float64(seeds)
		sum.flows = max(sum.flows, k.flows)
		sum.lowStops += k.lowStops
		sum.highStops += k.highStops
	}
	return sum
}

// The intervals contain the results of the same rules in an independently written packet model, and
// the spread of ours over seeds. Both models send a packet when part of it is within the window.
func TestModelCheck(t *testing.T) {
	race.OneGoroutine(t)
	cases := takeovers(t, "swift", "")
	for _, c := range []struct {
		name                             string
		upLow, upHigh, backLow, backHigh float64 // ms
	}{
		{"6 over 5", 2.5, 3.2, 0.2, 0.9},
		{"6 over 2", 0.5, 0.8, 0.2, 0.8},
		{"10 x 6 over 1", 0.2, 0.45, 0.2, 0.9},
	} {
		k := cases[c.name]
		k.partial = true
		for seed := range uint64(5) {
			k.run(t, seed)
			t.Logf("%-16s seed %d: up %.2f ms, back %.2f ms, idle %.2f ms, stops low %d high %d, "+
				"#flow %.0f",
				c.name, seed, k.up, k.recovery, k.idle, k.lowStops, k.highStops, k.flows)
			assert.GreaterOrEqual(t, k.up, c.upLow, c.name)
			assert.LessOrEqual(t, k.up, c.upHigh, c.name)
			assert.GreaterOrEqual(t, k.recovery, c.backLow, c.name)
			assert.LessOrEqual(t, k.recovery, c.backHigh, c.name)
		}
	}
}
