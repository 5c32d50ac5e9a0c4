package fabric_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

// TestPlannedFaultsBeginAndEnd checks that each kind of planned fault stops the frames exactly
// while it lasts.
func TestPlannedFaultsBeginAndEnd(t *testing.T) {
	us := units.Microsecond
	for _, f := range []fabric.PlannedFault{
		{Kind: fabric.Impairment, Port: 0, Faults: fabric.LinkFaults{Lose: 1}},
		{Kind: fabric.LinkDown, Port: 1},
		{Kind: fabric.PauseStorm, Host: 1},
		{Kind: fabric.HostStop, Host: 1},
		{Kind: fabric.HostStop, Host: 0},
	} {
		t.Run(f.Kind.String(), func(t *testing.T) {
			n := pairOf(t, fabric.HostConfig{})
			openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
			sink := openloop.Put(n, n.Host(1), nil, nil)
			f.At, f.For = units.Time(100*us), 100*us
			require.NoError(t, n.Schedule(fabric.Plan{f}, nil))
			run(t, n, 100*us)
			before := sink.Received
			run(t, n, 100*us)
			during := sink.Received - before
			run(t, n, 100*us)
			after := sink.Received - before - during
			assert.InDelta(t, 1000, float64(before), 50)
			assert.Less(t, during, uint64(50))
			assert.InDelta(t, 1000, float64(after), 50)
		})
	}
}

// TestRandomPlan checks that a random plan depends on its seed only, survives a JSON round trip,
// and ends within its span.
func TestRandomPlan(t *testing.T) {
	seed := testSeed(t)
	span := units.Millisecond
	build := func() *fabric.Network { return pairOf(t, fabric.HostConfig{}) }
	n := build()
	plan := n.RandomPlan(seed, 50, span)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	var read fabric.Plan
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, plan, read)
	assert.Equal(t, plan, build().RandomPlan(seed, 50, span))
	assert.NotEqual(t, plan, build().RandomPlan(seed+1, 50, span))
	for _, f := range plan {
		assert.LessOrEqual(t, f.At.Add(f.For), units.Time(span))
	}
	digests := map[uint64]bool{}
	for range 2 {
		n := build()
		openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 5000), nil)
		openloop.Put(n, n.Host(1), nil, nil)
		require.NoError(t, n.Schedule(plan, nil))
		run(t, n, 2*span)
		digests[n.Digest()] = true
	}
	assert.Len(t, digests, 1)
}

func TestImpossiblePlans(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	for says, f := range map[string]fabric.PlannedFault{
		"unknown kind of fault": {Kind: 9},
		"port 4 out of range":   {Kind: fabric.LinkDown, Port: 4},
		"host -1 out of range":  {Kind: fabric.HostStop, Host: -1},
		"queue 8 out of range":  {Kind: fabric.PauseStorm, Queue: 8},
		"duration":              {For: -1},
		"out of range [0, 1]":   {Faults: fabric.LinkFaults{Lose: 2}},
	} {
		require.ErrorContains(t, n.Schedule(fabric.Plan{f}, nil), says)
	}
}
