package nicoffload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestPCIeOccupies(t *testing.T) {
	p := PCIe{Rate: 8 * units.Gbps} // a byte per nanosecond
	for n, ns := range map[int]int{0: 0, 1: 25, 256: 280, 257: 305, 512: 560} {
		assert.Equal(t, units.Duration(ns)*units.Nanosecond, p.Occupies(n), n)
	}
	assert.Zero(t, (&PCIe{}).Occupies(100))
	_, err := NewDelayedDevice(nil, PCIe{Up: -1})
	assert.ErrorContains(t, err, "PCIe latency -1ps up")
}

// A signal is dispatched one latency later, and the decision takes effect another latency after
// that.
func TestPCIeDelay(t *testing.T) {
	a := &scribe{events: cc.Events(cc.RTT), decide: func(ev *cc.Event) cc.Decision {
		return cc.Decision{Window: units.Bytes(ev.PSN)}
	}}
	c, err := NewShared(Config{}, AgentConfig{}, &PCIe{Up: 2 * us, Down: 3 * us}, 0)
	require.NoError(t, err)
	f := c.Add(a, 0)
	for now := range 10 {
		c.Poll(at(now))
	}
	c.Decision(f)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: 7, Delay: us}, at(10))
	assert.Equal(t, at(12), c.Poll(at(10)))
	c.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: 8, Delay: us}, at(11))
	assert.Equal(t, at(12), c.Poll(at(11)))
	assert.Empty(t, a.received)
	assert.Equal(t, at(13), c.Poll(at(12)))
	require.Len(t, a.received, 1)
	assert.Equal(t, at(10), a.at[0], "with the time of the signal")
	assert.Equal(t, at(15), c.Poll(at(13)))
	_, changed := c.Decision(f)
	assert.False(t, changed)
	c.Poll(at(15))
	d, changed := c.Decision(f)
	assert.True(t, changed)
	assert.EqualValues(t, 7, d.Window)
	c.Poll(at(16))
	d, _ = c.Decision(f)
	assert.EqualValues(t, 8, d.Window)
	assert.True(t, c.Poll(at(17)).After(at(1_000_000)))
}

// On a slow link messages queue, and none is truncated.
func TestSlowPCIe(t *testing.T) {
	n := newNIC(t, Config{})
	d, err := NewDelayedDevice(n, PCIe{Up: us, Rate: 8 * units.Gbps})
	require.NoError(t, err)
	n.Open(1, cc.Decision{}, 0)
	for i := range 100 {
		n.Report(1, &cc.Event{Kind: cc.RTT, Delay: units.Duration(i + 1)}, 0)
		n.Poll(0)
		d.Advance(0)
	}
	assert.Zero(t, d.Fetch(make([]byte, 4096)))
	// A header for each burst: Started is part of the first signal's.
	took := 100 * 24 * units.Nanosecond
	took += (Slot + 100*2*Slot) * units.Nanosecond
	last := units.Time(0).Add(us + took)
	d.Advance(last.Add(-1))
	small := make([]byte, MaxMessage)
	count := 0
	for n := d.Fetch(small); n > 0; n = d.Fetch(small) {
		for at := 0; at < n; count++ {
			length, err := messageLen(small[at:n])
			require.NoError(t, err)
			at += length
		}
	}
	assert.Equal(t, 100, count, "Started and all but the last signal")
	d.Advance(last)
	assert.NotZero(t, d.Fetch(small))
}
