package goroce

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

func offloaded(t *testing.T, name string, o Options) *Host {
	spec, err := cc.Parse("swift")
	require.NoError(t, err)
	o.NewAlgorithm = func() cc.Algorithm {
		a, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 20 * units.Microsecond,
			Payload: 4096, Signals: cc.SignalDelay})
		require.NoError(t, err)
		return a
	}
	h, err := Open("loop:"+name, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// decided is what came of the agent of a host's endpoint.
func decided(t *testing.T, h *Host) (c nicoffload.ControllerCounters) {
	require.NoError(t, h.Do(0, func(*transport.Endpoint) {
		c = h.Offload(0).Controller.Counters()
	}))
	return c
}

// transfer sends and receives messages until something is so.
func transfer(t *testing.T, client, server *Conn, so func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, in := make([]byte, 20000), make([]byte, MaxMessage)
	for !so() {
		for range 50 {
			require.NoError(t, client.Send(ctx, out))
			_, err := server.Recv(ctx, in)
			require.NoError(t, err)
		}
	}
}

// Decisions come of an agent on a thread of its own. When nobody polls it any more, messages go on,
// in line; when somebody does again, its decisions hold again.
func TestAgentThatStalls(t *testing.T) {
	a, b := offloaded(t, t.Name(), Options{Offload: "soft", AgentCores: []int{-1}}), offloaded(t,
		t.Name(), Options{})
	require.Nil(t, b.Offload(0), "this one is in line")
	client, server := dialed(t, a, b)
	transfer(t, client, server, func() bool { return decided(t, a).Results > 20 })
	before := decided(t, a).Silences

	a.agents[0].stop()
	transfer(t, client, server, func() bool { return decided(t, a).Silences > before })
	results := decided(t, a).Results
	for range 10 {
		transfer(t, client, server, new(once).so)
	}
	require.Equal(t, results, decided(t, a).Results, "nobody decides")

	again, err := startAgentCore(a.agents[0].agents, -1, IdleSleep)
	require.NoError(t, err)
	a.agents[0] = again
	transfer(t, client, server, func() bool {
		c := decided(t, a)
		return c.Results > results+20 && c.Returns == c.Silences
	})
}

type once bool

func (o *once) so() bool {
	was := *o
	*o = true
	return bool(was)
}

// Samplers of the host are added while it runs, wherever the agent is polled.
func TestSamplersOfALiveHost(t *testing.T) {
	for _, cores := range [][]int{nil, {-1}} {
		h := offloaded(t, fmt.Sprint(t.Name(), len(cores)),
			Options{Offload: "soft", AgentCores: cores})
		samples := func() (n uint64) {
			require.NoError(t, h.DoAgent(0, func(a *nicoffload.Agent, _ units.Time) {
				n = a.Counters().Samples
			}))
			return n
		}
		require.NoError(t, h.DoAgent(0, func(a *nicoffload.Agent, now units.Time) {
			_, err := a.Sample("one", 10*units.Microsecond, func(units.Time) (float64, bool) {
				return 1, true
			}, now)
			require.NoError(t, err)
		}))
		for begin := time.Now(); samples() < 10; time.Sleep(time.Millisecond) {
			require.Less(t, time.Since(begin), 20*time.Second)
		}
		require.NoError(t, h.Close())
		require.ErrorIs(t, h.DoAgent(0, func(*nicoffload.Agent, units.Time) {}), ErrClosed)
	}
	h := offloaded(t, t.Name(), Options{})
	require.ErrorContains(t, h.DoAgent(0, func(*nicoffload.Agent, units.Time) {}), "in line")
}

// Without a core for it the agent is polled by that of its endpoint.
func TestAgentOfThePollingCore(t *testing.T) {
	a, b := offloaded(t, t.Name(), Options{Offload: "soft"}), offloaded(t, t.Name(),
		Options{Offload: "off"})
	client, server := dialed(t, a, b)
	transfer(t, client, server, func() bool { return decided(t, a).Results > 20 })
	require.Zero(t, decided(t, a).Silences)
	require.Empty(t, a.agents)
}

func TestUnknownOffload(t *testing.T) {
	_, err := Open("loop:"+t.Name(), Options{Offload: "bluefield"})
	require.ErrorContains(t, err,
		`unknown driver "bluefield", want process, soft or off`)
}
