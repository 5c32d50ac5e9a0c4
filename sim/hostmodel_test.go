package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/hostcc"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Eight hosts send to one with a tenth too little memory bandwidth. With hostCC its antagonist is
// throttled and senders get its signals; without it, the NIC pauses the network. Nothing is lost.
// The result is the same with an agent behind the receiver's device that samples the host and
// throttles it.
func TestHostCongestion(t *testing.T) {
	const senders, rate = 8, 100 * units.Gbps
	run := func(antagonist, hostCC, agent bool) (goodput units.BitRate, pauses uint64) {
		h, err := hostmodel.New(hostmodel.Config{
			PCIe:   fabric.PCIe{Rate: 128 * units.Gbps, Buffer: units.MiB, XOff: 300 * units.KiB},
			Memory: hostmodel.MemoryConfig{Bandwidth: 1000 * units.Gbps},
		})
		require.NoError(t, err)
		if antagonist {
			h.Memory.Antagonist(910 * units.Gbps)
		}
		host := hostcc.New(hostcc.Config{})
		net := fabric.New(fabric.Config{Seed: 1})
		queues := fabric.Queues{{Lossless: true, Limit: units.MiB, Headroom: 100_000,
			ECN: fabric.ECN{Kmin: 200_000, Kmax: 200_000, Pmax: 1}}}
		s := net.AddSwitch("switch", fabric.SwitchConfig{Buffer: 32 * units.MiB,
			Queues: queues.At()})
		for i := range senders + 1 {
			var c fabric.HostConfig
			if i == senders {
				h.Configure(&c)
				if hostCC {
					c.Congested = host.Congested
				}
			}
			net.Connect(net.AddHost(c), s, fabric.Link{Rate: rate, Delay: units.Microsecond})
		}
		control, err := cc.Parse("idctcp")
		require.NoError(t, err)
		sample := host.Sampler(h.Occupancy, h.Bandwidth, h)
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Hosts:    sim.Hosts{PathMTU: 4096},
			Scheme: sim.Scheme{Control: control,
				TrafficClass: 2,
				AnswerClass:  0xe0,
				Controller: func(i int, now units.Time) (cc.Controller, error) {
					if !agent || i != senders {
						return &cc.Inline{}, nil
					}
					c, err := nicoffload.NewShared(nicoffload.Config{}, nicoffload.AgentConfig{},
						&nicoffload.TypicalPCIe, now)
					if err == nil {
						_, err = c.Agent().Sample(hostcc.SamplerName, 2*units.Microsecond, sample,
							now)
					}
					return c, err
				},
			},
		})
		require.NoError(t, err)
		if hostCC && !agent {
			net.Every(2*units.Microsecond, func(now units.Time) bool { sample(now); return true })
		}
		var traffic flows
		for i := range senders {
			traffic = append(traffic,
				workload.Flow{Src: i, Dst: senders, Bytes: units.Bytes(1) << 40})
		}
		cl.Drive(&traffic, nil)
		const half = units.Millisecond
		require.NoError(t, net.Run(units.Time(half)))
		nic := net.Host(senders).NIC()
		before := nic.Stats()
		require.NoError(t, net.Run(units.Time(2*half)))
		after := nic.Stats()
		require.Empty(t, cl.Errors)
		assert.Zero(t, after.NoBuffer)
		return units.RateOf(units.Bytes(after.RxBytes-before.RxBytes), half),
			after.Pauses - before.Pauses
	}
	calm, pauses := run(false, false, false)
	assert.Greater(t, calm, 96*units.Gbps)
	assert.Zero(t, pauses)
	without, many := run(true, false, false)
	assert.InDelta(t, 90e9, float64(without), 1e9)
	assert.NotZero(t, many)
	with, pauses := run(true, true, false)
	t.Logf("calm %v, antagonist %v and %d pauses, with hostCC %v and %d", calm, without, many, with,
		pauses)
	assert.Greater(t, with, without+3*units.Gbps)
	assert.Less(t, pauses, many)
	offloaded, pauses := run(true, true, true)
	assert.InEpsilon(t, float64(with), float64(offloaded), 0.02)
	assert.Less(t, pauses, many)
}
