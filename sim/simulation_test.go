package sim_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

func star(hosts int) *fabric.Network {
	return fabric.Star(fabric.Parts{}, hosts,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
}

// A flow takes its ideal time on an empty network, plus a packet or two.
func TestOneFlowIsIdeal(t *testing.T) {
	for _, bytes := range []units.Bytes{1, 1024, 100_000, 10 * units.MiB} {
		net := star(2)
		c, err := sim.New(sim.Scenario{Topology: sim.On(net)})
		require.NoError(t, err)
		one, err := c.Connect(0, 1) // its hosts resolve addresses
		require.NoError(t, err)
		require.NotNil(t, one)
		require.NoError(t, net.Run(units.Time(100*units.Microsecond)))
		var done *sim.Transfer
		start := net.Now()
		c.Drive(&flows{{Src: 0, Dst: 1, Bytes: bytes}}, func(f *sim.Transfer) { done = f })
		require.NoError(t, net.Run(start.Add(2*units.Millisecond)))
		require.Empty(t, c.Errors)
		require.NotNil(t, done)
		assert.InDelta(t, c.Ideal(done.Flow).Nanoseconds(), done.Done.Sub(start).Nanoseconds(), 400,
			"%d bytes", bytes)
		assert.Zero(t, c.Running())
	}
}

// Two flows to one host share its link, as the time series of each shows.
func TestRatesOfFlows(t *testing.T) {
	net := star(3)
	c, err := sim.New(sim.Scenario{Topology: sim.On(net),
		Scheme: sim.Scheme{Algorithm: func() cc.Algorithm {
			return &cc.Fixed{Window: 64 * units.KiB}
		}}})
	require.NoError(t, err)
	var rates []*fabric.Series
	for i := range 2 {
		require.NoError(t, c.Warm(i, 2))
		f, err := c.Start(workload.Flow{Src: i, Dst: 2, Bytes: 1 << 40})
		require.NoError(t, err)
		rates = append(rates, net.SampleRate(20*units.Microsecond, f.Conn.Received))
	}
	require.NoError(t, net.Run(units.Time(units.Millisecond)))
	for _, r := range rates {
		assert.InEpsilon(t, 50e9*1024/1106, r.Mean(units.Time(200*units.Microsecond), net.Now()),
			0.02)
	}
}

// Flows start at their times, reuse a connection that is idle, and make another one otherwise.
func TestConnectionsAreReused(t *testing.T) {
	net := star(3)
	c, err := sim.New(sim.Scenario{Topology: sim.On(net)})
	require.NoError(t, err)
	us := units.Time(units.Microsecond)
	source := &flows{
		{At: 0, Src: 0, Dst: 1, Bytes: units.MiB}, {At: 10 * us, Src: 0, Dst: 1, Bytes: units.KiB},
		{At: 10 * us, Src: 0, Dst: 2, Bytes: units.KiB}, {At: 500 * us, Src: 0, Dst: 1,
			Bytes: 5 * units.MiB},
	}
	count := 0
	c.Drive(source, func(*sim.Transfer) { count++ })
	require.NoError(t, net.Run(units.Time(2*units.Millisecond)))
	assert.Equal(t, 4, count)
	assert.Equal(t, 3, c.Nodes[0].Endpoint.Stats().Holdings.QueuePairs)
}

// With loss, selective repeat ends sooner than go-back-N, and retransmits less.
func TestSelectiveRepeatBeatsGoBackN(t *testing.T) {
	var took [2]units.Duration
	var again [2]uint64
	for i, selective := range []bool{false, true} {
		net := star(2)
		c, err := sim.New(sim.Scenario{Topology: sim.On(net),
			Scheme: sim.Scheme{Selective: selective}})
		require.NoError(t, err)
		require.NoError(t, net.Host(0).NIC().Ports()[0].SetFaults(fabric.LinkFaults{Lose: 0.01}))
		c.Drive(&flows{{Src: 0, Dst: 1, Bytes: 20 * units.MiB}}, func(f *sim.Transfer) {
			took[i] = f.Done.Sub(0)
		})
		require.NoError(t, net.Run(units.Time(100*units.Millisecond)))
		require.Empty(t, c.Errors)
		require.NotZero(t, took[i])
		again[i] = c.Nodes[0].Endpoint.Stats().Retransmitted
	}
	assert.Less(t, 2*again[1], again[0])
	assert.Less(t, took[1], took[0])
}

// A flow that cannot end is an error, and the others continue.
func TestFailedFlow(t *testing.T) {
	net := star(3)
	c, err := sim.New(sim.Scenario{Topology: sim.On(net)})
	require.NoError(t, err)
	done := 0
	c.Drive(&flows{{Src: 0, Dst: 1, Bytes: units.MiB}, {Src: 0, Dst: 2, Bytes: units.MiB}},
		func(*sim.Transfer) {
			done++
		})
	net.At(units.Time(50*units.Microsecond), net.Host(1).Stop)
	require.NoError(t, net.Run(units.Time(100*units.Millisecond)))
	assert.Equal(t, 1, done)
	assert.Len(t, c.Errors, 1)
	assert.Zero(t, c.Running())
}

// TestIdleConnectionIsSmall: each end of a connection, with its queues and the state of the
// simulation, takes at most 2 KiB.
func TestIdleConnectionIsSmall(t *testing.T) {
	const conns = 20_000
	net := star(2)
	c, err := sim.New(sim.Scenario{Topology: sim.On(net)})
	require.NoError(t, err)
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	for range conns {
		_, err := c.Connect(0, 1)
		require.NoError(t, err)
	}
	require.NoError(t, net.Run(units.Time(units.Millisecond)))
	each := float64(measure()-before) / (2 * conns)
	t.Logf("%.0f bytes for each idle queue pair", each)
	assert.LessOrEqual(t, each, 2048.0)
	runtime.KeepAlive(c)
}

// flows is a source of these flows.
type flows []workload.Flow

func (fs *flows) Next() (workload.Flow, bool) {
	if len(*fs) == 0 {
		return workload.Flow{}, false
	}
	f := (*fs)[0]
	*fs = (*fs)[1:]
	return f, true
}
