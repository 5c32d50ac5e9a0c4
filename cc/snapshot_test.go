package cc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Impossible values are counted, and change nothing.
func TestImplausibleEvents(t *testing.T) {
	for _, c := range []struct {
		name string
		ev   Event
	}{
		{"no delay", Event{Kind: RTT, Packets: 0}},
		{"a negative delay", Event{Kind: RTT, Delay: -us}},
		{"a delay of a stepped clock", Event{Kind: RTT, Delay: 1e6*us + 1}},
		{"hosts that took longer than the round trip",
			Event{Kind: RTT, Delay: us, Endpoint: 2 * us}},
		{"a negative count", Event{Kind: ACK, Packets: -1}},
		{"more packets than PSNs", Event{Kind: ACK, Packets: 1 << 24}},
		{"marks from nowhere", Event{Kind: ECN, Packets: 0, Marked: 1}},
	} {
		for _, spec := range []string{"swift", "ledbat-dc", "dctcp"} {
			a := make1[Algorithm](t, spec, everything)
			before := a.(Observable).Snapshot()
			a.On(&c.ev, at(1))
			after := a.(Observable).Snapshot()
			assert.EqualValues(t, 1, after.Ignored, "%s: %s", spec, c.name)
			after.Ignored = 0
			assert.Equal(t, before, after, "%s: %s", spec, c.name)
		}
	}
}

func TestInlineSnapshot(t *testing.T) {
	var c Inline
	var _ Observer = &c
	f := c.Add(make1[*Swift](t, "swift", everything), 0)
	ev := rtt(200*us, 1)
	ev.Flow = f
	c.Report(ev, at(7))
	d, _ := c.Decision(f)
	s := c.Snapshot(f)
	assert.Equal(t, d.Window, s.Window)
	assert.Equal(t, 200*us, s.Delay)
	assert.Equal(t, CutDelay, s.Reason)
	assert.Equal(t, at(7), s.CutAt)
	assert.EqualValues(t, 1, s.Cuts[CutDelay])
	assert.Greater(t, s.Target, 25*us)

	assert.Equal(t, Snapshot{Window: defaultWindow}, c.Snapshot(c.Add(plain{}, 0)),
		"one that shows nothing")
	for r := range reasons {
		assert.NotEqual(t, reasons.String(), r.String())
	}
}

// A cooldown lasts for its duration, also when the clock steps back.
func TestCooldown(t *testing.T) {
	var g cooldown
	assert.True(t, g.expired(at(-5), us))
	g.start(at(100))
	assert.False(t, g.expired(at(100.5), us))
	assert.True(t, g.expired(at(101), us))
	assert.False(t, g.expired(at(-1e9), us))
	assert.True(t, g.expired(at(-1e9+1), us))
}

// PSNs of 24 bits wrap around.
func TestPSNMark(t *testing.T) {
	var m psnMark
	assert.True(t, m.passed(0) && m.reached(0), "never set")
	m.at(0xffffff)
	for _, c := range []struct {
		psn             uint32
		passed, reached bool
	}{{0xfffffe, false, false}, {0xffffff, false, true}, {0, true, true}, {5, true, true},
		{0x7ffffe, true, true}, {0x800000, false, false}} {
		assert.Equal(t, c.passed, m.passed(c.psn), "%x", c.psn)
		assert.Equal(t, c.reached, m.reached(c.psn), "%x", c.psn)
	}
}

func TestClamp(t *testing.T) {
	for x, want := range map[float64]float64{1: 2, 2: 2, 3: 3, 5: 5, 6: 5, math.Inf(1): 5,
		math.Inf(-1): 2} {
		assert.Equal(t, want, clamp(x, 2, 5))
	}
	assert.Equal(t, 2.0, clamp(math.NaN(), 2, 5), "NaN becomes the least")
}

func TestEWMA(t *testing.T) {
	s := ewma{value: 40 * us}
	s.add(80 * us)
	assert.Equal(t, 80*us, s.value, "the first sample is all")
	s.add(160 * us)
	assert.Equal(t, 90*us, s.value)
}
