package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// BenchmarkFabric measures the link crossings of frames per second, with transport endpoints on
// every host. One iteration is one frame over one link.
func BenchmarkFabric(b *testing.B) {
	parts := fabric.Parts{Config: fabric.Config{MTU: 1500, OffloadICRC: true}}
	for _, shape := range []struct {
		name  string
		build func() *fabric.Network
	}{
		{"star16", func() *fabric.Network {
			return fabric.Star(parts, 16,
				fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		}},
		{"leafspine160", func() *fabric.Network {
			return fabric.ToCC(100*units.Gbps,
				400*units.Gbps).Build(parts)
		}},
	} {
		b.Run(shape.name, func(b *testing.B) {
			net := shape.build()
			c, err := sim.New(sim.Scenario{Topology: sim.On(net), Hosts: sim.Hosts{PathMTU: 1024},
				Scheme: sim.Scheme{Algorithm: func() cc.Algorithm {
					return &cc.Fixed{Window: 128 * units.KiB}
				}}})
			require.NoError(b, err)
			hosts := len(net.Hosts())
			for i := range hosts {
				_, err := c.Start(workload.Flow{Src: i, Dst: (i + hosts/2) % hosts, Bytes: 1 << 50})
				require.NoError(b, err)
			}
			run := func(hops uint64) {
				for end := net.Hops + hops; net.Hops < end; {
					require.NoError(b, net.Run(net.Now().Add(10*units.Microsecond)))
				}
			}
			run(100_000) // past neighbour discovery and the allocation of buffers
			events := net.Events
			b.ResetTimer()
			run(uint64(b.N))
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mhops/s")
			b.ReportMetric(float64(net.Events-events)/float64(b.N), "events/hop")
			require.Empty(b, c.Errors)
		})
	}
}

// BenchmarkFabricWebSearch simulates ToCC's leaf-spine of 160 hosts with WebSearch flows at 60 % of
// the hosts' links, one virtual millisecond per iteration.
func BenchmarkFabricWebSearch(b *testing.B) {
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Alpha: 0.25, Headroom: 100_000, Reserve: 4096,
		Resume: 3000}
	net := fabric.ToCC(100*units.Gbps,
		400*units.Gbps).Build(fabric.Parts{Config: fabric.Config{MTU: 1500, OffloadICRC: true},
		Switch: fabric.SwitchConfig{Buffer: 32_000_000, Queues: qs.At()}})
	c, err := sim.New(sim.Scenario{Topology: sim.On(net), Hosts: sim.Hosts{PathMTU: 1024},
		Scheme: sim.Scheme{Algorithm: func() cc.Algorithm {
			return &cc.Fixed{Window: 128 * units.KiB}
		}}})
	require.NoError(b, err)
	traffic, err := workload.Poisson{Hosts: 160, Rate: 100 * units.Gbps, Load: 0.6,
		Sizes: workload.WebSearch, Seed: 1}.Source()
	require.NoError(b, err)
	done := 0
	c.Drive(traffic, func(*sim.Transfer) { done++ })
	require.NoError(b, net.Run(units.Time(500*units.Microsecond)))
	before, hops := done, net.Hops
	for b.Loop() {
		require.NoError(b, net.Run(net.Now().Add(units.Millisecond)))
	}
	b.ReportMetric(float64(net.Hops-hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
	b.ReportMetric(float64(done-before)/float64(b.N), "flows/op")
	require.Empty(b, c.Errors)
}
