package dpdk

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/mbuf"
	"github.com/goroce/goroce/units"
)

// aClock is a device's clock of a given rate, beside the program's clock.
type aClock struct {
	now    units.Time
	hertz  float64
	offset uint64
	costs  units.Duration // of one read
	fails  error
	reads  int
}

func (a *aClock) ticks(at units.Time) uint64 {
	return a.offset + uint64(at.Sub(0).Seconds()*a.hertz)
}

func (a *aClock) device() *deviceClock {
	return &deviceClock{now: func() units.Time { return a.now }, read: func() (uint64, error) {
		a.reads++
		a.now = a.now.Add(a.costs / 2)
		ticks := a.ticks(a.now)
		a.now = a.now.Add(a.costs / 2)
		return ticks, a.fails
	}}
}

func TestDeviceClock(t *testing.T) {
	for name, a := range map[string]*aClock{
		"78.125 MHz, as ConnectX-4 has": {hertz: 78.125e6, offset: 1 << 40},
		"1 GHz, as real time has":       {hertz: 1e9, offset: 1.7e18},
		"it drifts":                     {hertz: 1e9 * (1 + 50e-6), offset: 12345},
	} {
		t.Run(name, func(t *testing.T) {
			a.now, a.costs = units.Time(5*units.Second), 800*units.Nanosecond
			c := a.device()
			rng := rand.New(rand.NewPCG(1, 2))
			known := 0
			for range 3000 {
				arrived := a.now
				// polled only then
				a.now = a.now.Add(units.Duration(rng.Int64N(int64(2 * units.Millisecond))))
				if at := c.time(a.ticks(arrived)); at != 0 {
					known++
					assert.InDelta(t, 0, at.Sub(arrived).Nanoseconds(), 50+1e9/a.hertz)
				}
			}
			assert.Greater(t, known, 2900)
			assert.Less(t, a.reads, 50, "in 3 s")
		})
	}
}

func TestDeviceClockThatCannotBeRead(t *testing.T) {
	a := &aClock{hertz: 1e9, offset: 1e9, now: units.Time(units.Second),
		costs: 20 * units.Microsecond}
	c := a.device()
	stamp := func() units.Time {
		a.now = a.now.Add(20 * units.Millisecond)
		return c.time(a.ticks(a.now))
	}
	for range 10 {
		require.Zero(t, stamp(), "each comparison was interrupted")
	}
	a.costs, a.fails = 0, errors.New("not supported")
	require.Zero(t, stamp())
	a.fails = nil
	require.Zero(t, stamp(), "one comparison gives no rate")
	require.Equal(t, a.now.Add(20*units.Millisecond), stamp())
	require.Zero(t, c.time(0), "a frame without a stamp")

	a.offset -= 1e9 / 2 // the device was reset
	for range 10 {
		a.now = a.now.Add(20 * units.Millisecond)
		c.time(a.ticks(a.now) + 1e9) // a stamp from before the reset
	}
	for range 3 {
		stamp()
	}
	require.Equal(t, a.now.Add(20*units.Millisecond), stamp())
}

// The driver for captures stamps frames with the time of the capture, in microseconds, but does
// not report the capability: the test shows that stamps are read where drivers write them.
func TestStampsAreRead(t *testing.T) {
	d, err := Open("pcap:testdata/rc-send-multi.pcap", Options{})
	require.NoError(t, err)
	defer d.Close()
	require.False(t, d.Info().Timestamps)
	stamps, err := ethdev.RegisterRxTimestamp()
	require.NoError(t, err)
	var (
		b    mbuf.Burst
		lost uint32
	)
	n := d.port.RxBurst([]uint16{0}, &b, 8, nil, stamps, &lost)
	require.Positive(t, n)
	for i := 1; i < n; i++ {
		require.NotZero(t, b.Stamp[i])
		require.GreaterOrEqual(t, b.Stamp[i], b.Stamp[i-1])
	}
	mbuf.Free(&b, n)
}
