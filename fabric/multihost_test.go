package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// shared is a host with a link of 100 Gb/s to a switch, and a NIC of two hosts behind that, each of
// which takes 50 Gb/s.
func shared(m fabric.MultiHost) (n *fabric.Network, toNIC *fabric.Port) {
	n = fabric.New(fabric.Config{})
	tor := n.AddSwitch("tor", fabric.SwitchConfig{Queues: fabric.Queues{0: {Lossless: true}}.At()})
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	n.Connect(n.AddHost(fabric.HostConfig{}), tor, link)
	m.Hosts, m.PCIe = 2, fabric.Link{Rate: 50 * units.Gbps}
	return n, n.Connect(tor, m.Build(n, "nic"), link)
}

// TestVirtualOutputQueues: behind a burst for one host, frames for the other wait with one queue
// and do not with two.
func TestVirtualOutputQueues(t *testing.T) {
	const (
		burst, behind = 200, 20
		length        = 1082
	)
	for _, one := range []bool{false, true} {
		n, _ := shared(fabric.MultiHost{OneQueue: one})
		require.NoError(t, n.Build())
		sent := 0
		openloop.Put(n, n.Host(0), func() (openloop.Frame, bool) {
			sent++
			f := openloop.Frame{Len: length, Dst: 1}
			if sent > burst {
				f.Dst = 2
			}
			return f, sent <= burst+behind
		}, nil)
		var last [3]units.Time
		for i := 1; i < 3; i++ {
			openloop.Put(n, n.Host(i), nil, func(a openloop.Arrival) { last[i] = a.Arrived })
		}
		run(t, n, units.Millisecond)
		t.Logf("one queue %v: the burst is there at %v, those behind at %v", one, last[1], last[2])
		frame := (50 * units.Gbps).Duration(wireBytes(length))
		const way = 2 * units.Microsecond
		assert.InDelta(t, float64(way+burst*frame), float64(last[1]), float64(3*frame),
			"the burst takes as long as PCIe")
		// comes at twice PCIe's rate, and then takes that
		want := way + burst/2*frame + behind*frame
		if one {
			want = way + burst*frame + behind*frame
		}
		assert.InDelta(t, float64(want), float64(last[2]), float64(4*frame))
	}
}

// TestTxPFC: what the PCIe does not take makes the NIC pause the switch, and nothing is lost.
// NIC-ECN marks what finds a queue.
func TestTxPFC(t *testing.T) {
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			n, toNIC := shared(fabric.MultiHost{OneQueue: one, Buffer: 512 * units.KiB,
				Data: fabric.Queue{
					Lossless: true, Limit: 100_000, Headroom: 40_000, ECN: fabric.ECN{Kmin: 20_000,
						Kmax: 50_000, Pmax: 0.1},
				}})
			require.NoError(t, n.Build())
			openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1082, Dst: 1, ECN: wire.ECNECT0},
				0), nil)
			marked := 0
			station := openloop.Put(n, n.Host(1), nil, func(a openloop.Arrival) {
				if a.CE {
					marked++
				}
			})
			openloop.Put(n, n.Host(2), nil, nil)
			run(t, n, units.Millisecond)
			assert.InEpsilon(t, 50e9*1082/1106, 8*float64(station.ReceivedBytes)/1e-3, 0.02,
				"its PCIe's rate")
			assert.Positive(t, toNIC.Peer().QueueStats(0).PausesSent)
			assert.InDelta(t, 0.5, toNIC.QueueStats(0).Paused.Seconds()/1e-3, 0.1,
				"half of the time at twice the rate")
			for _, s := range n.Switches() {
				for _, p := range s.Ports() {
					assert.Zero(t, p.QueueStats(0).Dropped)
				}
			}
			assert.Greater(t, marked, int(station.Received/2))
		})
	}
}
