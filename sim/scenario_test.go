package sim_test

import (
	"bytes"
	"context"
	"strings"
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

const us = units.Microsecond

var hundredGig = fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}

// leafSpine is eight hosts with flows of WebSearch.
func leafSpine(t *testing.T, scheme string) sim.Scenario {
	s, err := sim.ParseScheme(scheme)
	require.NoError(t, err)
	return sim.Scenario{
		Topology: fabric.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 4, Host: hundredGig,
			Up: hundredGig},
		Hosts:    sim.Hosts{PathMTU: 4096},
		Scheme:   s,
		Workload: sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.5, 300*units.Microsecond)},
		Seed:     7,
	}
}

// All flows of the traffic end, none faster than alone, and the same seed gives the same result.
func TestTraffic(t *testing.T) {
	s := leafSpine(t, "swift")
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Complete())
	require.NotEmpty(t, r.Flows)
	for _, f := range r.Flows {
		assert.Greater(t, f.Slowdown(), 0.97)
		assert.LessOrEqual(t, f.Done, units.Time(r.End))
	}
	again, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, r.Flows, again.Flows)
	assert.Equal(t, r.Simulation.Net.Digest(), again.Simulation.Net.Digest())
	s.Seed++
	other, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, r.Flows, other.Flows)
}

// Every algorithm runs with the switches of ParseScheme, and a comparison has a line for each.
func TestCompare(t *testing.T) {
	schemes, err := sim.ParseSchemes(cc.Names()...)
	require.NoError(t, err)
	results, err := sim.Compare(t.Context(), leafSpine(t, "fixed"), schemes...)
	require.NoError(t, err)
	var table bytes.Buffer
	require.NoError(t, sim.WriteTable(&table, results...))
	assert.Len(t, strings.Split(strings.TrimSpace(table.String()), "\n"), len(schemes)+1)
	for _, r := range results {
		marks := strings.HasSuffix(r.Scheme, "tcp") || strings.Contains(r.Scheme, "dcqcn")
		assert.Equal(t, marks, r.Totals.Marked > 0, r.Scheme)
		assert.Len(t, r.Flows, len(results[0].Flows))
		x, y := r.BySize(50, 10_000, 100_000, 100_000_000)
		assert.Len(t, y, len(x))
	}
	_, err = sim.ParseScheme("cubic")
	assert.ErrorContains(t, err, "unknown algorithm")
}

// The tokens of a scheme come from granters that share state within a simulation.
func TestTokensOfAScheme(t *testing.T) {
	spec, err := tocc.Parse("unsch=0,cc=none")
	require.NoError(t, err)
	s := leafSpine(t, "fixed:window=1GB")
	s.Scheme.Tokens, s.Scheme.Selective = &spec, true
	for range 2 {
		r, err := s.Run(t.Context())
		require.NoError(t, err)
		require.NoError(t, r.Complete())
		assert.NotZero(t, r.Simulation.Nodes[0].Endpoint.Stats().TokensSent)
	}
	assert.Nil(t, s.Scheme.Admit)
}

// Declared flows have traces, programs have logs, and a run with both ends at Until.
func TestFlowsAndRequests(t *testing.T) {
	spec, err := cc.Parse("swift")
	require.NoError(t, err)
	r, err := sim.Scenario{
		Topology: sim.Star(4, hundredGig),
		Scheme:   sim.Scheme{Control: spec, AnswerClass: sim.ReplyDSCP << 2},
		Workload: sim.Workload{
			Flows: []sim.Flow{{From: 0, To: 3, Bytes: units.MiB},
				{From: 3, To: 0, Start: 100 * us}},
			Requests: []sim.Requests{{From: 1, To: 2, Bytes: 4096, Think: 10 * us, Start: 50 * us}},
		},
		Probes: sim.Probes{Queues: []sim.QueueProbe{{Port: 3}}, Buffers: 10 * us},
		Until:  500 * us,
	}.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 500*us, r.End)
	require.Len(t, r.Flows, 1, "the other has no end")
	assert.InDelta(t, 1, r.Flows[0].Slowdown(), 0.1)
	assert.Equal(t, units.MiB, r.Traces[0].Acked)
	assert.Greater(t, r.Traces[1].Goodput.Mean(units.Time(200*us), units.Time(400*us)), 80e9)
	assert.Zero(t, r.Traces[1].Goodput.Mean(0, units.Time(80*us)))
	require.Greater(t, len(r.Requests[0].Done), 20)
	assert.GreaterOrEqual(t, r.Requests[0].Done[0].Posted, 50*us)
	assert.InDelta(t, 5000, r.Requests[0].Done[0].Took().Nanoseconds(), 1500)
	assert.NotZero(t, r.Queues[0].Stats.Frames)
	assert.NotEmpty(t, r.Stored.Values)
}

// A fault plan begins at time zero, and a run ends when its context ends or Over returns true.
func TestFaultsAndEnds(t *testing.T) {
	s := leafSpine(t, "fixed")
	for port := range 24 {
		s.Faults = append(s.Faults, fabric.PlannedFault{Kind: fabric.Impairment, Port: port,
			Faults: fabric.LinkFaults{Lose: 0.01}})
	}
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.NotZero(t, r.Totals.Retransmitted)

	s.Faults = nil
	s.Over = func(_ *sim.Simulation, at units.Duration) bool { return at >= 100*us }
	r, err = s.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 100*us, r.End)
	assert.NotZero(t, r.Unfinished)
	assert.ErrorContains(t, r.Complete(), "have not ended")

	ctx, cancel := context.WithCancel(t.Context())
	s.Over, s.Probes.Progress = nil, func(at units.Duration) {
		if at >= 60*us {
			cancel()
		}
	}
	r, err = s.Run(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 60*us, r.End)
}

func TestScenarioRefuses(t *testing.T) {
	spec, err := cc.Parse("fixed")
	require.NoError(t, err)
	for want, change := range map[string]func(*sim.Scenario){
		"no topology": func(s *sim.Scenario) { s.Topology = nil },
		"host 0 to 9 of 8 hosts": func(s *sim.Scenario) {
			s.Workload.Flows = []sim.Flow{{To: 9, Control: spec}}
		},
		"needs a Control": func(s *sim.Scenario) {
			s.Workload.Flows = []sim.Flow{{To: 1}}
			s.Scheme.Control = nil
		},
		"switch 4 out of range": func(s *sim.Scenario) {
			s.Probes.Queues = []sim.QueueProbe{{Switch: 4}}
		},
		"port 9 out of range": func(s *sim.Scenario) {
			s.Probes.Queues = []sim.QueueProbe{{Port: 9}}
		},
		"queue -1 out of range": func(s *sim.Scenario) {
			s.Probes.Queues = []sim.QueueProbe{{Queue: -1}}
		},
		"fault 0": func(s *sim.Scenario) {
			s.Faults = fabric.Plan{{Kind: fabric.LinkDown, Port: 999}}
		},
		"hpcc needs INT, and this p": func(s *sim.Scenario) {
			s.Scheme.Control, s.Hosts.Plain = parsed(t, "hpcc"), true
		},
	} {
		s := leafSpine(t, "fixed")
		change(&s)
		_, err := s.Run(t.Context())
		assert.ErrorContains(t, err, want)
	}
	s, err := sim.New(leafSpine(t, "fixed"))
	require.NoError(t, err)
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	_, err = s.Run(t.Context())
	assert.ErrorContains(t, err, "has run already")
}

func parsed(t *testing.T, text string) cc.Spec {
	spec, err := cc.Parse(text)
	require.NoError(t, err)
	return spec
}
