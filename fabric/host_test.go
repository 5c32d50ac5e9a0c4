package fabric_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// polled is a poller that is a function.
type polled func(now units.Time) units.Time

func (p polled) Poll(now units.Time) units.Time { return p(now) }

func forever(now units.Time) units.Time { return now.Add(units.Forever) }

func pairOf(t *testing.T, c fabric.HostConfig) *fabric.Network {
	n := fabric.Star(fabric.Parts{Host: c}, 2,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	return n
}

// TestNICTakesOneBeyondTheWire checks that the NIC accepts the frame on the wire and one beyond it
// in each class, and that a poller whose Send accepted too few frames is woken when there is room.
func TestNICTakesOneBeyondTheWire(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	nic := n.Host(0).NIC()
	var rounds []units.Time
	var took []int
	n.Host(0).Run(polled(func(now units.Time) units.Time {
		bufs := make([]packet.Buf, 5)
		nic.Alloc(bufs)
		for i := range bufs {
			bufs[i].SetLen(1226) // 1250 bytes of wire: 100 ns
			to := n.Host(1).NIC().Info().MAC
			copy(bufs[i].Data(), to[:])
		}
		sent := nic.Send(packet.ClassData, bufs)
		nic.Free(bufs[sent:])
		rounds, took = append(rounds, now), append(took, sent)
		return forever(now)
	}))
	run(t, n, 350*units.Nanosecond)
	ns := units.Time(units.Nanosecond)
	assert.Equal(t, []units.Time{0, 100 * ns, 200 * ns, 300 * ns}, rounds)
	assert.Equal(t, []int{2, 1, 1, 1}, took)
}

// TestWakeUps checks that a host is polled when a frame has arrived, after the receive delay, and
// at its poller's deadline.
func TestWakeUps(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{RxDelay: 500 * units.Nanosecond,
		TxDelay: 200 * units.Nanosecond})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 1), nil)
	var rounds []units.Time
	var stamp units.Time
	nic := n.Host(1).NIC()
	n.Host(1).Run(polled(func(now units.Time) units.Time {
		rounds = append(rounds, now)
		bufs := make([]packet.Buf, 8)
		if got := nic.Recv(bufs); got > 0 {
			stamp = bufs[0].Time
			nic.Free(bufs[:got])
		}
		if now == 0 {
			return now.Add(units.Microsecond)
		}
		return forever(now)
	}))
	run(t, n, units.Millisecond)
	us, ns := units.Time(units.Microsecond), units.Time(units.Nanosecond)
	arrived := 200*ns + 100*ns + us + 100*ns + us // NIC, wire, cable, wire, cable
	assert.Equal(t, []units.Time{0, us, arrived + 500*ns}, rounds)
	assert.Equal(t, arrived, stamp, "the timestamp is the NIC's")
}

func TestSpinningPollerIsAnError(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	n.Host(0).Run(polled(func(now units.Time) units.Time { return now }))
	require.ErrorContains(t, n.Run(1), "the poller spins")
}

func TestVirtualCPU(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{TxDepth: 100, CPU: fabric.CPU{PerPoll: 300 * units.Nanosecond,
		PerPacket: 50 * units.Nanosecond, Consume: 8 * units.Gbps}})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 60, Dst: 1}, 20), nil)
	var rounds []units.Time
	nic := n.Host(1).NIC()
	got := 0
	n.Host(1).Run(polled(func(now units.Time) units.Time {
		bufs := make([]packet.Buf, 2)
		k := nic.Recv(bufs)
		nic.Free(bufs[:k])
		if got += k; k > 0 {
			rounds = append(rounds, now)
		}
		return forever(now)
	}))
	run(t, n, units.Millisecond)
	assert.Equal(t, 20, got)
	for i := 1; i < len(rounds); i++ {
		assert.GreaterOrEqual(t, rounds[i].Sub(rounds[i-1]), 350*units.Nanosecond)
	}
	assert.Equal(t, units.Microsecond, n.Host(1).Consume(1000).Sub(n.Now()))
	assert.Equal(t, 3*units.Microsecond, n.Host(1).Consume(2000).Sub(n.Now()),
		"one after the other")
}

// slowMemory adds a constant time to every transfer.
type slowMemory struct{ wrote, read units.Bytes }

func (m *slowMemory) Write(_ units.Time, n units.Bytes) units.Duration {
	m.wrote += n
	return 50 * units.Nanosecond
}

func (m *slowMemory) Read(_ units.Time, n units.Bytes) units.Duration { m.read += n; return 0 }

func TestPCIe(t *testing.T) {
	memory := &slowMemory{}
	n := pairOf(t, fabric.HostConfig{PCIe: fabric.PCIe{Rate: 50 * units.Gbps,
		Latency: 400 * units.Nanosecond}, Memory: memory})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1250, Dst: 1}, 100), nil)
	var seen []units.Time
	nic := n.Host(1).NIC()
	n.Host(1).Run(polled(func(now units.Time) units.Time {
		bufs := make([]packet.Buf, 32)
		k := nic.Recv(bufs)
		nic.Free(bufs[:k])
		for range k {
			seen = append(seen, now)
		}
		return forever(now)
	}))
	run(t, n, units.Millisecond)
	require.Len(t, seen, 100)
	// The sending NIC is limited by PCIe to 200 ns per frame. At the receiver each frame takes 200
	// ns on PCIe and 50 ns in memory, so that frames queue there.
	assert.Equal(t, 250*units.Nanosecond, seen[99].Sub(seen[98]))
	assert.EqualValues(t, 125_000, memory.wrote)
	assert.EqualValues(t, 125_000, memory.read)
}

func TestSlowPCIePausesOrDrops(t *testing.T) {
	for _, xoff := range []units.Bytes{0, 16 * units.KiB} {
		n := pairOf(t, fabric.HostConfig{PCIe: fabric.PCIe{Rate: 120 * units.Gbps,
			Buffer: 128 * units.KiB, XOff: xoff}, Memory: &slowMemory{}})
		src := openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1250, Dst: 1}, 5000), nil)
		sink := openloop.Put(n, n.Host(1), nil, nil)
		run(t, n, 2*units.Millisecond)
		require.EqualValues(t, 5000, src.Sent)
		st := n.Host(1).NIC().Stats()
		if xoff == 0 {
			assert.NotZero(t, st.NoBuffer)
			assert.Zero(t, st.Pauses)
		} else {
			assert.Zero(t, st.NoBuffer)
			assert.NotZero(t, st.Pauses)
			assert.EqualValues(t, 5000, sink.Received)
		}
	}
}

func TestJitterKeepsOrderAndNoiseAffectsTimestampsOnly(t *testing.T) {
	rng := generator(1)
	draw := func() units.Duration { return units.Duration(rng.Int64N(int64(units.Microsecond))) }
	n := pairOf(t, fabric.HostConfig{Jitter: draw, Noise: draw})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 1000), nil)
	var last uint64
	late := 0
	openloop.Put(n, n.Host(1), nil, func(a openloop.Arrival) {
		assert.False(t, a.Tag < last)
		last = a.Tag
		if n.Now().Before(a.Arrived) {
			late++
		}
	})
	run(t, n, units.Millisecond)
	assert.EqualValues(t, 999, last)
	assert.NotZero(t, late, "no timestamp was wrong")
}

func TestStoppedHostLosesAndComesBack(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
	sink := openloop.Put(n, n.Host(1), nil, nil)
	run(t, n, 100*units.Microsecond)
	n.Host(1).Stop()
	run(t, n, 100*units.Microsecond)
	assert.InDelta(t, 1000, float64(n.Host(1).NIC().Stats().Down), 25)
	before := sink.Received
	n.Host(1).Run(sink)
	run(t, n, 100*units.Microsecond)
	assert.InDelta(t, float64(before)+1000, float64(sink.Received), 25)
	n.Host(0).Stop()
	run(t, n, 100*units.Microsecond)
	assert.Zero(t, n.Host(0).NIC().Held(), "a stopped host holds no buffers")
}

func TestRxDepth(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{TxDepth: 100, RxDepth: 10})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 60, Dst: 1}, 50), nil)
	n.Host(1).Run(polled(forever))
	run(t, n, units.Millisecond)
	assert.EqualValues(t, 40, n.Host(1).NIC().Stats().NoRoom)
}

func TestBuffersThatAreNotOursPanic(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	nic := n.Host(0).NIC()
	bufs := make([]packet.Buf, 1)
	nic.Alloc(bufs)
	nic.Free(bufs)
	assert.Panics(t, func() { nic.Free(bufs) })
	assert.Panics(t, func() { nic.Send(packet.ClassData, bufs) })
}

func TestUnaddressedFrames(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	nic := n.Host(0).NIC()
	bufs := make([]packet.Buf, 3)
	nic.Alloc(bufs)
	for i := range bufs {
		bufs[i].SetLen(i * 30) // empty, too short, all zeros
		clear(bufs[i].Data())
	}
	assert.Equal(t, 3, nic.Send(packet.ClassData, bufs))
	run(t, n, units.Millisecond)
	assert.EqualValues(t, 3, nic.Stats().Unaddressed)
	assert.Zero(t, nic.Held())
}

func TestNoAllocationPerFrame(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
	openloop.Put(n, n.Host(1), nil, nil)
	run(t, n, units.Millisecond)
	until := n.Now()
	var err error
	allocs := testing.AllocsPerRun(10, func() {
		until = until.Add(100 * units.Microsecond) // 1000 frames
		err = errors.Join(err, n.Run(until))
	})
	require.NoError(t, err)
	assert.Zero(t, allocs)
}
