package prioplus

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// clocks is a path of two hosts whose clocks differ; each direction takes half of the base round
// trip.
type clocks struct {
	*bench
	apart units.Duration // by which the receiver's clock is ahead
}

// ack acknowledges a packet that waited so many microseconds on its way, and whose reply waited so
// many on its way back.
func (c *clocks) ack(there, back float64) {
	c.una++
	c.sent = max(c.sent, c.una)
	oneWay := c.apart + 6*us + units.Duration(there*float64(us))
	c.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000,
		Delay:  12*us + units.Duration((there+back)*float64(us)),
		OneWay: units.Duration(int32(oneWay/units.Nanosecond)) * units.Nanosecond})
}

func apart(t testing.TB, by units.Duration) *clocks {
	path := plain
	path.Signals |= cc.SignalOneWay
	a, err := specOf(t, "swift", "one_way=on", 4).New(path)
	require.NoError(t, err)
	b := &bench{PrioPlus: a.(*PrioPlus), t: t, left: 10_000_000}
	b.on(cc.Event{Kind: cc.POST})
	b.probed(20)
	b.rttEndSeq += 1 << 20
	return &clocks{b, by}
}

// Waiting on the way back does not affect the flow, whatever the offset of the clocks is, and
// although there was a queue on the way there from the beginning.
func TestOneWay(t *testing.T) {
	for _, by := range []units.Duration{0, 3 * units.Millisecond, -7 * units.Second,
		2147483640 * units.Nanosecond, math.MaxInt64 / 4} {
		c := apart(t, by)
		c.ack(18, 0)
		for range 100 {
			c.ack(18, 30)
			require.InDelta(t, 30, c.delay.Microseconds(), 0.002, "%v apart", by)
		}
		require.False(t, c.stopped)
		c.ack(23, 30)
		c.ack(23, 0)
		assert.True(t, c.stopped, "35 us of the way there")
	}
}

// The first replies may wait, too: the forward delay then looks longer until one does not.
func TestOneWayLearns(t *testing.T) {
	c := apart(t, units.Second)
	c.ack(5, 10)
	assert.InDelta(t, 27, c.delay.Microseconds(), 0.002)
	c.ack(5, 0)
	c.ack(5, 10)
	assert.InDelta(t, 17, c.delay.Microseconds(), 0.002)
}

// Clocks diverge by some ppm.
func TestOneWayDrift(t *testing.T) {
	for _, ppm := range []int64{-50, 0, 50} {
		c := apart(t, 0)
		for i := range 20_000 { // 2 s
			c.now = c.now.Add(100 * us)
			c.apart += units.Duration(100 * int64(us) * ppm / 1e6)
			c.ack(10, float64(i%10)) // one in ten does not wait
		}
		c.ack(10, 5)
		assert.InDelta(t, 22, c.delay.Microseconds(), 0.2, "%d ppm", ppm)
	}
}
