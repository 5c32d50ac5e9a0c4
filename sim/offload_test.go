package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/nicoffload/pcc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// incast runs four flows of 2 MB that begin at once and end at one host. It returns their
// completion times, and the controllers of the hosts.
func incast(t *testing.T, control func(sim.Pair, *sim.Service), queue fabric.Queue,
	tokens *tocc.Spec, controller func() (cc.Controller, error)) (done []units.Duration,
	controllers []cc.Controller) {
	queues := fabric.Queues{queue}
	queues[tokenQueue] = fabric.Queue{Share: 0.04, Burst: 2,
		ECN: fabric.ECN{Kmin: 200, Kmax: 800, Pmax: 1}}
	net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: 3},
		Switch: fabric.SwitchConfig{Queues: queues.At(), INT: true}}, 5,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	c := sim.Scenario{Topology: sim.On(net), Scheme: sim.Scheme{Of: control, TrafficClass: 2,
		AnswerClass: 0xe0}}
	if tokens != nil {
		c.Scheme.Selective, c.Scheme.Admit = true, func(_ sim.Pair, path cc.Path) (cc.Gate,
			cc.Granter, error) {
			return tokens.New(path)
		}
	}
	if controller != nil {
		c.Scheme.Controller = func(int, units.Time) (cc.Controller, error) {
			k, err := controller()
			controllers = append(controllers, k)
			return k, err
		}
	}
	cl, err := sim.New(c)
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, cl.Warm(i, 4))
	}
	var all flows
	start := net.Now()
	for i := range 4 {
		all = append(all, workload.Flow{Src: i, Dst: 4, Bytes: 2_000_000, At: start})
	}
	cl.Drive(&all, func(f *sim.Transfer) { done = append(done, f.Done.Sub(start)) })
	require.NoError(t, net.Run(start.Add(20*units.Millisecond)))
	require.Empty(t, cl.Errors)
	require.Len(t, done, 4)
	return done, controllers
}

// tokenQueue is the queue of tocc's token_dscp.
const tokenQueue = 5

// marking is a queue that marks at one threshold.
var marking = fabric.Queue{ECN: fabric.ECN{Kmin: 80_000, Kmax: 80_000, Pmax: 1}}

// all gives every flow the same control.
func all(c cc.Factory) func(sim.Pair, *sim.Service) {
	return func(_ sim.Pair, s *sim.Service) { s.Control = c }
}

// priorities gives each host its own virtual priority.
func priorities(t *testing.T) func(sim.Pair, *sim.Service) {
	swift, err := cc.Parse("swift")
	require.NoError(t, err)
	channels, err := prioplus.ParseChannels("8")
	require.NoError(t, err)
	return func(p sim.Pair, s *sim.Service) {
		s.Control = prioplus.Spec{Inner: swift, Channels: channels, Priority: p.From}
	}
}

// offloaded runs an incast behind soft NICs. If everything is reported at once and nothing takes
// time, it equals the native one, to the picosecond; with aggregation, and agents at a distance, it
// returns when the flows are done. deciding are the hosts whose algorithms make decisions.
func offloaded(t *testing.T, native []units.Duration, deciding []int,
	control func(sim.Pair, *sim.Service), queue fabric.Queue, tokens *tocc.Spec) []units.Duration {
	run := func(agg nicoffload.Aggregation, distance *nicoffload.PCIe) []units.Duration {
		done, controllers := incast(t, control, queue, tokens, func() (cc.Controller, error) {
			return nicoffload.NewShared(nicoffload.Config{Aggregation: agg},
				nicoffload.AgentConfig{}, distance, 0)
		})
		for _, i := range deciding {
			n := controllers[i].(*nicoffload.Controller).Agent().Counters()
			assert.NotZero(t, n.Events)
			assert.NotZero(t, n.Results)
			assert.Zero(t, n.Malformed+n.Backwards+n.Unbound+n.Unknown)
		}
		return done
	}
	assert.Equal(t, native, run(nicoffload.Immediate, nil))
	far := run(nicoffload.DefaultAggregation, &nicoffload.TypicalPCIe)
	t.Logf("in line %v, far %v", native, far)
	return far
}

// The same transport, the same algorithms, in line and behind the device: if everything is reported
// at once and nothing takes time, the results are equal to the picosecond. With aggregation and
// distance, flows take about as long.
func TestOffloaded(t *testing.T) {
	for _, name := range []string{"swift", "dctcp", "idctcp", "hpcc", "dcqcn", "timely",
		"ledbat-dc", "bolt", "prioplus"} {
		t.Run(name, func(t *testing.T) {
			control, queue := priorities(t), marking
			if name != "prioplus" {
				spec, err := cc.Parse(name)
				require.NoError(t, err)
				control = all(spec)
			}
			if name == "bolt" {
				queue = fabric.Queue{Bolt: sim.Bolt(1024)}
			}
			native, _ := incast(t, control, queue, nil, nil)
			far := offloaded(t, native, []int{0, 1, 2, 3}, control, queue, nil)
			assert.Less(t, float64(far[3]), 1.15*float64(native[3]))
			assert.Greater(t, float64(far[3]), 0.85*float64(native[3]))
		})
	}
}

// Token congestion control is a flow of its own, which the device treats as any other: the NIC
// sends and uses tokens, and the agent decides how many may be in flight.
func TestTokenCCOffloaded(t *testing.T) {
	open, err := cc.Parse("fixed:window=1GB")
	require.NoError(t, err)
	for _, control := range []string{"dcqcn", "dctcp", "swift"} {
		t.Run(control, func(t *testing.T) {
			spec, err := tocc.Parse("k=2048B,cc=" + control)
			require.NoError(t, err)
			native, _ := incast(t, all(open), marking, &spec, nil)
			far := offloaded(t, native, []int{4}, all(open), marking, &spec)
			assert.InEpsilon(t, float64(native[3]), float64(far[3]), 0.05)
		})
	}
}

// The baselines carry the same flows.
func TestBaselinesOfOffload(t *testing.T) {
	control, err := cc.Parse("dctcp")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		control cc.Factory
		make    func() (cc.Controller, error)
	}{
		"ccp": {control, func() (cc.Controller, error) {
			c, _, err := ccp.New(ccp.Config{Program: ccp.PerRTT, Service: units.Microsecond / 4,
				Payload: 1024}, true)
			return c, err
		}},
		"doca-pcc": {pcc.Spec{}, func() (cc.Controller, error) {
			return pcc.NewController(pcc.Config{LineRate: 100 * units.Gbps,
				Delay: 2 * units.Microsecond})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			done, _ := incast(t, all(c.control), marking, nil, c.make)
			t.Log(fmt.Sprint(done))
			assert.Less(t, done[3], 3*units.Millisecond, "0.7 ms are the line's")
		})
	}
}
