package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// boltNetwork is a sender whose link is four times as fast as the receiver's.
func boltNetwork(t *testing.T, c fabric.Bolt) *fabric.Network {
	net := fabric.New(fabric.Config{Seed: 1})
	sw := net.AddSwitch("switch", fabric.SwitchConfig{Queues: fabric.Queues{{Bolt: c}}.At()})
	net.Connect(net.AddHost(fabric.HostConfig{}), sw,
		fabric.Link{Rate: 400 * units.Gbps, Delay: 2 * units.Microsecond})
	net.Connect(net.AddHost(fabric.HostConfig{}), sw,
		fabric.Link{Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond})
	require.NoError(t, net.Build())
	return net
}

// One flow fills the link, and its queue stays near CC_THRESH, two packets: reports about the queue
// arrive before its packets are acknowledged.
func TestBoltHoldsItsQueue(t *testing.T) {
	for _, mtu := range []units.Bytes{1024, 4096} {
		bolt := sim.Bolt(mtu)
		net := boltNetwork(t, bolt)
		spec, err := cc.Parse("bolt")
		require.NoError(t, err)
		cl, err := sim.New(sim.Scenario{Topology: sim.On(net),
			Hosts: sim.Hosts{PathMTU: mtu, Chunk: 4 * units.MiB}, Scheme: sim.Scheme{Control: spec,
				AnswerClass: 0xe0}})
		require.NoError(t, err)
		require.NoError(t, cl.Warm(0, 1))
		f, err := cl.Start(workload.Flow{Src: 0, Dst: 1, Bytes: 1 << 40})
		require.NoError(t, err)
		port := net.Switches()[0].Ports()[1]
		queue := port.RecordQueue(0)
		from, to := units.Time(2*units.Millisecond), units.Time(6*units.Millisecond)
		require.NoError(t, net.Run(from))
		before := port.Stats().Bytes
		require.NoError(t, net.Run(to))
		used := float64(units.RateOf(units.Bytes(port.Stats().Bytes-before), to.Sub(from))) / 100e9
		frame := float64(bolt.Frame)
		mean, p99, longest := queue.Mean(from, to)/frame, queue.Percentile(99, from, to)/frame,
			queue.Max(from, to)/frame
		t.Logf("MTU %d: used %.4f, queue mean %.2f, p99 %.2f, longest %.2f packets, %+v",
			int64(mtu), used, mean, p99, longest, f.Conn.QP.Stats().Congestion)
		assert.Greater(t, used, 0.98)
		assert.InDelta(t, 2, mean, 1.5)
		assert.Less(t, p99, 6.)
	}
}

// A path is not one for Bolt without switches that run Bolt, nor for packets of another class.
func TestBoltNeedsItsSwitches(t *testing.T) {
	spec, err := cc.Parse("bolt")
	require.NoError(t, err)
	for _, c := range []struct {
		bolt  fabric.Bolt
		class uint8
		says  string
	}{
		{sim.Bolt(1024), 0, ""},
		{sim.Bolt(1024), 8 << 2, "cc: bolt needs SRC, and this path gives"},
		{fabric.Bolt{}, 0, "cc: bolt needs SRC, and this path gives"},
	} {
		cl, err := sim.New(sim.Scenario{Topology: sim.On(boltNetwork(t, c.bolt)),
			Scheme: sim.Scheme{Control: spec, TrafficClass: c.class}})
		require.NoError(t, err)
		_, err = cl.Connect(0, 1)
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}

// Lost, duplicated, late or corrupted frames, including those with flags and reports, cost only
// time.
func TestBoltWithFaults(t *testing.T) {
	for _, selective := range []bool{false, true} {
		net := boltNetwork(t, sim.Bolt(1024))
		spec, err := cc.Parse("bolt")
		require.NoError(t, err)
		cl, err := sim.New(sim.Scenario{Topology: sim.On(net),
			Scheme: sim.Scheme{Control: spec, Selective: selective, AnswerClass: 0xe0}})
		require.NoError(t, err)
		faults := fabric.LinkFaults{Lose: 0.002, Duplicate: 0.002, Reorder: 0.002, Corrupt: 0.002}
		for _, p := range net.Switches()[0].Ports() {
			require.NoError(t, p.SetFaults(faults))
			require.NoError(t, p.Peer().SetFaults(faults))
		}
		done := units.Duration(0)
		cl.Drive(&flows{{Src: 0, Dst: 1, Bytes: 20 * units.MiB}}, func(f *sim.Transfer) {
			done = f.Done.Sub(0)
		})
		require.NoError(t, net.Run(units.Time(200*units.Millisecond)))
		require.Empty(t, cl.Errors)
		require.NotZero(t, done)
		c := cl.Nodes[0].Endpoint.Stats()
		assert.NotZero(t, c.SwitchReports)
		assert.NotZero(t, c.DropICRC)
		assert.Zero(t, c.DropUnnegotiated+c.DropTag, "broken ones are found by their ICRC")
		t.Logf("selective %v: %v, %d reports, %d sent again", selective, done, c.SwitchReports,
			c.Retransmitted)
	}
}
