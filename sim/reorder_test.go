package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	ports "github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// rising is a port whose data packets alternate between the lower and the higher of two priorities,
// 16 packets each.
type rising struct{ ports.Port }

func (r rising) Send(class ports.Class, bufs []ports.Buf) int {
	for i := range bufs {
		var p wire.Packet
		if p.Parse(bufs[i].Data()) == nil && p.Op.Info().Kind == wire.Write && p.PSN>>4&1 != 0 {
			p.IPv4().TOS = 8<<2 | p.ECN
			p.IPv4().UpdateChecksum()
		}
	}
	return r.Port.Send(class, bufs)
}

// A flow whose packets change their priority reorders itself. A sender with a reordering window
// retransmits nothing if nothing is lost; otherwise everything arrives.
func TestReorderingByPriorities(t *testing.T) {
	const hosts, bytes = 5, 2 * units.MiB
	for _, c := range []struct {
		name       string
		reordering units.Duration
		lose       float64
	}{
		{"without patience", 0, 0}, {"with patience", 100 * units.Microsecond, 0}, {"and losses",
			100 * units.Microsecond, 0.005},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: 7, MTU: 1500}}, hosts,
				fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
			cl, err := sim.New(sim.Scenario{
				Topology: sim.On(net),
				Hosts: sim.Hosts{Timeout: 10, Wrap: func(_ int, p ports.Port) ports.Port {
					return rising{p}
				}},
				Scheme: sim.Scheme{Selective: true,
					AnswerClass: 0xe0,
					Recovery:    sim.Recovery{Reordering: c.reordering, MaxHeld: 4096},
					Algorithm:   func() cc.Algorithm { return &cc.Fixed{Window: 100 * units.KiB} },
				},
			})
			require.NoError(t, err)
			for _, p := range net.Switches()[0].Ports() {
				require.NoError(t, p.SetFaults(fabric.LinkFaults{Lose: c.lose}))
			}
			var flows []*sim.Transfer
			for i := range hosts - 1 {
				f, err := cl.Start(workload.Flow{Src: i, Dst: hosts - 1, Bytes: bytes})
				require.NoError(t, err)
				flows = append(flows, f)
			}
			require.NoError(t, net.Run(units.Time(100*units.Millisecond)))
			require.Empty(t, cl.Errors)
			again, timeouts := uint64(0), uint64(0)
			for i, f := range flows {
				require.NotZero(t, f.Done, "flow %d", i)
				k := cl.Nodes[i].Endpoint.Stats()
				again, timeouts = again+k.Retransmitted, timeouts+k.Timeouts
			}
			held := cl.Nodes[hosts-1].Endpoint.Stats().Held
			t.Logf("done after %v, %d held, %d sent again, %d timeouts", flows[0].Done, held, again,
				timeouts)
			assert.NotZero(t, held, "something was overtaken")
			assert.Equal(t, c.reordering == 0 || c.lose > 0, again > 0)
			if c.lose == 0 {
				assert.Zero(t, timeouts)
			}
		})
	}
}
