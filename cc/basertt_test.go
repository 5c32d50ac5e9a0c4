package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// lan is a path of two hops at 10 Gb/s, where a packet of 1000 bytes takes 2.4 us longer than a
// probe, on three links.
var lan = Path{LineRate: 10 * units.Gbps, Payload: 1000, Hops: 2}

func TestBaseRTTByHand(t *testing.T) {
	b := BaseRTT{Path: lan, Window: 100 * us, Queue: 40 * us}
	assert.Zero(t, b.Base())
	for i, s := range []struct {
		at, delay units.Duration
		payload   units.Bytes
		want      units.Duration
		says      string
	}{
		{0, 20 * us, 1000, 20 * us, "the first"},
		{1 * us, 13 * us, 1000, 13 * us, "a lower one counts at once"},
		{2 * us, 10 * us, 0, 12400 * units.Nanosecond, "a probe, 2.4 us less"},
		{3 * us, 11 * us, 500, 12200 * units.Nanosecond, "half a packet, 1.2 us less"},
		{4 * us, 0, 1000, 12200 * units.Nanosecond, "none"},
		{5 * us, -us, 1000, 12200 * units.Nanosecond, "a clock that went back"},
		{6 * us, 2 * units.Second, 1000, 12200 * units.Nanosecond, "a clock that jumped"},
		{10 * us, 60 * us, 1000, 12200 * units.Nanosecond, "a spike, or a longer route"},
		{30 * us, 58 * us, 1000, 12200 * units.Nanosecond, "again"},
		{50 * us, 70 * us, 1000, 12200 * units.Nanosecond, "again"},
		{70 * us, 52 * us, 1000, 12200 * units.Nanosecond,
			"that may be a queue: the window begins anew"},
		{90 * us, 60 * us, 1000, 12200 * units.Nanosecond, "1st"},
		{110 * us, 58 * us, 1000, 12200 * units.Nanosecond, "2nd"},
		{130 * us, 57600 * units.Nanosecond, 0, 12200 * units.Nanosecond, "3rd"},
		{155 * us, 90 * us, 1000, 12200 * units.Nanosecond, "4th"},
		{175 * us, 90 * us, 1000, 12200 * units.Nanosecond, "5th"},
		{190 * us, 91 * us, 1000, 58 * us, "a window long: the least of them"},
		{191 * us, 14 * us, 1000, 14 * us, "and back at once"},
	} {
		b.Sample(s.delay, s.payload, at(1+s.at.Microseconds()))
		require.Equal(t, s.want, b.Base(), "%d: %s", i, s.says)
	}
	assert.Equal(t, uint64(1), b.Rises())
	assert.Equal(t, 14*us-2400*units.Nanosecond, b.Of(0))
	b.Set(30 * us)
	assert.Equal(t, 30*us, b.Base())
	b.Sample(31*us, 1000, at(201))
	assert.Equal(t, 30*us, b.Base())
	b.Sample(29*us, 1000, at(202))
	assert.Equal(t, 29*us, b.Base())
}

// drawBase returns an estimator with random settings, and the true base of its path.
func drawBase(t *rapid.T) (b BaseRTT, truth units.Duration) {
	b = BaseRTT{Path: Path{
		LineRate: units.BitRate(rapid.SampledFrom([]int{1, 10, 100, 400}).Draw(t, "Gb/s")) *
			units.Gbps,
		Payload: units.Bytes(rapid.SampledFrom([]int{256, 1024, 4096}).Draw(t, "payload")),
		Hops:    rapid.IntRange(0, 5).Draw(t, "hops"),
	}}
	b.Window = units.Duration(rapid.Int64Range(1, 1000).Draw(t, "window us")) * us
	b.Queue = units.Duration(rapid.Int64Range(0, 500).Draw(t, "queue us")) * us
	return b, units.Duration(rapid.Int64Range(300, 1000).Draw(t, "base us")) * us
}

// sample adds a sample of a packet of any size, which takes longer the larger it is.
func sample(t *rapid.T, b *BaseRTT, base units.Duration, now units.Time) {
	payload := units.Bytes(rapid.Int64Range(0, int64(b.Path.Payload)).Draw(t, "payload"))
	b.Sample(base-b.shorter(payload), payload, now)
}

// No queue up to Queue raises the base, however long it stands; the least sample is always the
// base.
func TestBaseRTTOfAStandingQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, truth := drawBase(t)
		now, least := at(1), units.Duration(units.Forever)
		sample(t, &b, truth, now)
		for range rapid.IntRange(1, 50).Draw(t, "samples") {
			now = now.Add(units.Duration(rapid.Int64Range(0, int64(10*b.Window)).Draw(t, "apart")))
			queue := units.Duration(rapid.Int64Range(0, int64(b.Queue)).Draw(t, "queue"))
			least = min(least, queue)
			sample(t, &b, truth+queue, now)
			require.Equal(t, truth, b.Base())
		}
		require.Zero(t, b.Rises())
	})
}

// A longer route is accepted a window after it began if samples are frequent enough, with the least
// of its delays.
func TestBaseRTTOfALongerRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, truth := drawBase(t)
		now := at(1)
		sample(t, &b, truth, now)
		longer := truth + b.Queue + units.Duration(rapid.Int64Range(1, int64(us)).Draw(t,
			"longer ps"))
		noise := units.Duration(units.Forever)
		for changed := now; now.Sub(changed) < b.Window; {
			if noise != units.Forever {
				now = now.Add(units.Duration(rapid.Int64Range(int64(b.Window/minSamplesPerWindow/8),
					int64(b.Window/minSamplesPerWindow)).Draw(t, "apart")))
			}
			n := units.Duration(rapid.Int64Range(0, int64(us)).Draw(t, "noise"))
			noise = min(noise, n)
			require.Equal(t, truth, b.Base())
			sample(t, &b, longer+n, now)
		}
		require.Equal(t, longer+noise, b.Base())
		require.Equal(t, uint64(1), b.Rises())
	})
}

// Rare spikes do not count as a longer route, however high they are.
func TestBaseRTTOfSpikes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, truth := drawBase(t)
		now := at(1)
		sample(t, &b, truth, now)
		for range rapid.IntRange(1, 30).Draw(t, "spikes") {
			now = now.Add(b.Window/minSamplesPerWindow + units.Duration(rapid.Int64Range(1,
				int64(b.Window)).Draw(t, "apart")))
			sample(t, &b, truth+b.Queue+units.Duration(rapid.Int64Range(1,
				int64(units.Millisecond)).Draw(t, "spike")), now)
			require.Equal(t, truth, b.Base())
		}
	})
}

func TestBaseRTTAllocatesNothing(t *testing.T) {
	b := BaseRTT{Path: lan, Window: us, Queue: us}
	now := at(1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(us / 8)
		b.Sample(10*us, 0, now)
	}))
}
