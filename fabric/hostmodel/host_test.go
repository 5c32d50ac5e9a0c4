package hostmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

// receiver returns a host at 100 Gb/s that continuously receives frames of 4000 bytes.
func receiver(t *testing.T, c Config) (*Host, *fabric.Network, *openloop.Station) {
	h, err := New(c)
	require.NoError(t, err)
	net := fabric.New(fabric.Config{Seed: 1})
	a := net.AddHost(fabric.HostConfig{})
	var config fabric.HostConfig
	h.Configure(&config)
	net.Connect(a, net.AddHost(config), fabric.Link{Rate: 100 * units.Gbps, Delay: us})
	require.NoError(t, net.Build())
	openloop.Put(net, a, func() (openloop.Frame, bool) {
		return openloop.Frame{Len: 4000, Dst: 1}, true
	}, nil)
	return h, net, openloop.Put(net, net.Host(1), nil, nil)
}

var pcie = fabric.PCIe{Rate: 128 * units.Gbps, Buffer: units.MiB, XOff: 512 * units.KiB}

// TestAntagonist checks that an antagonist that leaves too little memory bandwidth slows the NIC
// down, which then pauses its link and loses nothing, with a full I/O controller. When throttled,
// the antagonist leaves enough.
func TestAntagonist(t *testing.T) {
	h, net, sink := receiver(t,
		Config{PCIe: pcie, Memory: MemoryConfig{Bandwidth: 1000 * units.Gbps}})
	now := units.Time(0)
	// over returns goodput and mean occupancy in the second half of a time span.
	over := func(d units.Duration) (gbps, lines float64) {
		now = now.Add(d / 2)
		require.NoError(t, net.Run(now))
		h.Occupancy(now)
		h.Bandwidth(now)
		before := sink.Received
		now = now.Add(d / 2)
		require.NoError(t, net.Run(now))
		lines, ok := h.Occupancy(now)
		require.True(t, ok)
		gbps, ok = h.Bandwidth(now)
		require.True(t, ok)
		assert.InDelta(t, gbps, float64(sink.Received-before)*4000*8/(d/2).Seconds()/1e9, 1)
		return gbps, lines
	}
	line := 100 * 4000. / 4024
	gbps, lines := over(units.Millisecond)
	assert.InDelta(t, line, gbps, 0.5)
	assert.InDelta(t, 65, lines, 1, "12.5 GB/s for 333 ns")
	assert.Zero(t, net.Host(1).NIC().Stats().Pauses)

	h.Memory.Antagonist(920 * units.Gbps)
	gbps, lines = over(units.Millisecond)
	assert.InDelta(t, 80, gbps, 1)
	assert.InDelta(t, 119, lines, 1, "93 per 100 Gb/s of PCIe")
	st := net.Host(1).NIC().Stats()
	assert.NotZero(t, st.Pauses)

	require.NoError(t, h.SetLevel(1)) // to 70 %
	gbps, lines = over(units.Millisecond)
	assert.InDelta(t, line, gbps, 0.5)
	assert.InDelta(t, 65, lines, 1)
	require.Equal(t, st.NoBuffer, net.Host(1).NIC().Stats().NoBuffer)
	assert.Zero(t, st.NoBuffer)
	require.ErrorContains(t, h.SetLevel(5), "throttling level 5 out of range [0, 5)")
}

// TestCacheKeepsMemoryFree checks that with direct cache access memory carries only the cache's
// traffic.
func TestCacheKeepsMemoryFree(t *testing.T) {
	for _, c := range []struct {
		order   Order
		backlog int // unread messages
		gbps    float64
	}{{LIFO, 100, 99}, {FIFO, 100, 50},
		{FIFO, 5000, 25}} { // no traffic; each line written back; also fetched
		h, net, _ := receiver(t,
			Config{PCIe: pcie, Memory: MemoryConfig{Bandwidth: 50 * units.Gbps}, Cache: &Xeon4309Y})
		q, err := h.Queue(8192, 4000, c.order)
		require.NoError(t, err)
		seen := uint64(0)
		net.Every(us/10, func(now units.Time) bool {
			for ; seen < net.Host(1).NIC().Stats().RxFrames; seen++ {
				q.Receive(4000, 0)
			}
			for q.Waiting() > c.backlog {
				m, _ := q.Read()
				q.Release(m)
			}
			return true
		})
		require.NoError(t, net.Run(units.Time(8*units.Millisecond)))
		h.Bandwidth(net.Now())
		require.NoError(t, net.Run(units.Time(10*units.Millisecond)))
		gbps, _ := h.Bandwidth(net.Now())
		assert.InDelta(t, c.gbps, gbps, 2, "%v %d", c.order, c.backlog)
	}
}

// TestThrottle checks that a level takes effect after LevelDelay.
func TestThrottle(t *testing.T) {
	h, err := New(Config{Memory: MemoryConfig{Bandwidth: 100 * units.Gbps}})
	require.NoError(t, err)
	h.Memory.Antagonist(50 * units.Gbps)
	at := func(n int) units.Time { return units.Time(units.Duration(n) * us) }
	set := func(n, level int) {
		h.Occupancy(at(n))
		require.NoError(t, h.SetLevel(level))
	}
	set(10, 1)
	set(20, 3)
	assert.InDelta(t, 50e9, float64(h.Memory.Left(at(31))), 1)
	assert.InDelta(t, 95e9, float64(h.Memory.Left(at(32))), 1)
	set(40, 4)
	assert.Equal(t, 3, h.Memory.Level(at(61)))
	assert.Equal(t, 4, h.Memory.Level(at(62)))
	h.Memory.Antagonist(10_000 * units.Gbps)
	set(70, 0)
	assert.Equal(t, 100*units.Gbps/64, h.Memory.Left(at(92)), "a minimum is always left")
}

// TestLineLatency checks that the latency of a line grows with the cache's memory traffic, and only
// with Queueing.
func TestLineLatency(t *testing.T) {
	for queueing, want := range map[bool]float64{false: 90, true: 180} {
		c := CacheConfig{Size: 64 * 64, Ways: 1, DDIO: 1}
		h, err := New(Config{Memory: MemoryConfig{Bandwidth: 100 * units.Gbps, Queueing: queueing},
			Cache: &c})
		require.NoError(t, err)
		now := units.Time(0)
		walk := h.Walk(128*64, false) // every line misses
		for range 20000 {             // at half of the bandwidth
			walk.Step()
			now = now.Add((50 * units.Gbps).Duration(64))
			h.LineLatency(now)
		}
		assert.InEpsilon(t, want, h.LineLatency(now).Nanoseconds(), 0.02)
	}
}
