package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// hostly acknowledges one more packet, with a delay, a poll gap here, and the part of the gap in
// which this host was away, in microseconds.
func (b *bench) hostly(delay, gap, away float64) {
	b.una++
	b.sent = max(b.sent, b.una)
	micros := func(x float64) units.Duration { return units.Duration(x * float64(us)) }
	b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: micros(delay),
		LocalGap: micros(gap), LocalAway: micros(away)})
}

// A flow yields when delays are certainly beyond its limit, 34.4 us, whatever the hosts did, and
// not when they only may be.
func TestYieldOfUncertainSamples(t *testing.T) {
	for _, c := range []struct {
		name       string
		delay, gap float64
		stops      bool
	}{
		{"no gap", 36, 0, true},
		{"a gap that may be what is beyond", 36, 2, false},
		{"a long gap", 500, 480, false},
		{"a gap longer than all of it", 36, 900, false},
		{"a queue beyond the gap", 500, 460, true},
	} {
		b := sending(t)
		b.hostly(c.delay, c.gap, c.gap)
		assert.False(t, b.stopped, "%s: one sample is noise", c.name)
		b.hostly(c.delay, c.gap, c.gap)
		assert.Equal(t, c.stops, b.stopped, c.name)
	}
}

// A stopped flow resumes after a probe that may have met no queue.
func TestResumeAfterAnUncertainProbe(t *testing.T) {
	for _, c := range []struct {
		gap   units.Duration
		stops bool
	}{{0, true}, {us, true}, {10 * us, false}, {units.Second, false}} {
		b := sending(t)
		b.ack(36)
		b.ack(36)
		assert.True(t, b.stopped)
		b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: 40*us - b.probeSaving, LocalGap: c.gap})
		assert.Equal(t, c.stops, b.stopped, c.gap)
	}
}

// The window has room for what waits in polling hosts, in addition to the channel's 32 us in the
// fabric, but not for what waits while a host is away, nor where there are time stamps.
func TestRoomForHosts(t *testing.T) {
	for _, c := range []struct {
		name             string
		delay, gap, away float64
		most             float64 // packets; a microsecond is 12.5
	}{
		{"time stamps", 20, 0, 0, 32 * 12.5},
		{"work for 40 us", 52, 40, 0, (32 + 40) * 12.5},
		{"a nap of 40 us", 52, 40, 40, 32 * 12.5},
		{"work and a nap", 92, 80, 40, (32 + 40) * 12.5},
	} {
		b := sending(t)
		assert.InDelta(t, 32*12.5, float64(b.maxCwnd()), 1e-6)
		for range 100 {
			b.hostly(c.delay, c.gap, c.away)
		}
		assert.InDelta(t, c.most, float64(b.maxCwnd()), 12.5, c.name)
		b.inner.SetCwnd(10_000)
		b.inner.On(&cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: 20 * us}, b.now)
		assert.InDelta(t, c.most, float64(b.inner.Cwnd()), 64*1.25,
			"%s: the original CC is steered in steps", c.name)
		for range 100 {
			b.hostly(20, 0, 0)
		}
		assert.InDelta(t, 32*12.5, float64(b.maxCwnd()), 12.5, "%s: it fades", c.name)
	}
}
