package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// Eight senders to one receiver: the link is full except for the share of tokens, and the queue is
// a packet or two if all data needs tokens; otherwise it is unscheduled packets, at most a BDP of
// each sender.
func TestTokensShareALink(t *testing.T) {
	const packets, bursts = 2 * 1110, 8 * 51_000 // bytes; a BDP is 50 625 here
	for _, want := range []struct {
		text    string
		least   float64
		longest float64
	}{
		{"unsch=0,cc=none", 90e9, packets}, {"unsch=0", 90e9, packets}, {"cc=none", 90e9, bursts},
		{"homa", 85e9, bursts}, {"ndp", 90e9, bursts}, {"expresspass", 80e9, packets},
	} {
		text := want.text
		spec, err := tocc.Parse(text)
		require.NoError(t, err)
		var queues fabric.Queues
		queues[5] = fabric.Queue{Share: 0.055, Burst: 2}
		net := fabric.New(fabric.Config{Seed: 1})
		sw := net.AddSwitch("s", fabric.SwitchConfig{Queues: queues.At()})
		for range 9 {
			net.Connect(net.AddHost(fabric.HostConfig{}), sw,
				fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		}
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Scheme: sim.Scheme{Selective: true,
				AnswerClass: 56 << 2,
				Tokens:      &spec,
			},
		})
		require.NoError(t, err)
		require.NoError(t, cl.ResolveAddresses())
		var rates []*fabric.Series
		for i := range 8 {
			f, err := cl.Start(workload.Flow{Src: i, Dst: 8, Bytes: 1 << 40})
			require.NoError(t, err)
			rates = append(rates, net.SampleRate(100*units.Microsecond, f.Conn.Received))
		}
		q := sw.Ports()[8].RecordQueue(0)
		from := net.Now().Add(500 * units.Microsecond)
		require.NoError(t, net.Run(from.Add(units.Millisecond)))
		total := 0.0
		for _, r := range rates {
			total += r.Mean(from, net.Now())
		}
		c := cl.Nodes[8].Endpoint.Stats()
		sender := cl.Nodes[0].Endpoint.Stats()
		t.Logf("%s: %.2f Gb/s, queue mean %.0f max %.0f, tokens %d dropped %d, timeouts %d, "+
			"retransmitted %d", text, total/1e9, q.Mean(from, net.Now()), q.Max(0, net.Now()),
			c.TokensSent, c.TokensDropped, sender.Timeouts, sender.Retransmitted)
		assert.Greater(t, total, want.least, text)
		assert.LessOrEqual(t, q.Max(0, net.Now()), want.longest, text)
	}
}

// The rest of a message that is slightly longer than the unscheduled part is requested at once, not
// at the next expiry of another timer.
func TestRestBehindTheUnscheduledPhase(t *testing.T) {
	spec, err := tocc.Parse("k=2048B")
	require.NoError(t, err)
	for _, senders := range []int{1, 3} {
		net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: 1}}, senders+1,
			fabric.Link{Rate: 25 * units.Gbps, Delay: units.Microsecond})
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Hosts:    sim.Hosts{Timeout: 12},
			Scheme: sim.Scheme{Selective: true,
				AnswerClass: 56 << 2,
				Admit: func(_ sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
					return spec.New(path)
				},
			},
		})
		require.NoError(t, err)
		require.NoError(t, cl.ResolveAddresses())
		bdp := int64(net.Bottleneck(0, senders).Bytes(cl.BaseRTT(0, senders)))
		for size := bdp - 2048; size < bdp+2048; size += 100 {
			begin := net.Now()
			for from := range senders {
				_, err := cl.Start(workload.Flow{Src: from, Dst: senders, Bytes: units.Bytes(size)})
				require.NoError(t, err)
			}
			require.NoError(t, net.Run(begin.Add(100*units.Microsecond)))
			require.Zero(t, cl.Running(), "%d senders, %d bytes", senders, size)
		}
	}
}
