package fabric_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

// spoiled sends frames over a link with faults and answers what arrived.
func spoiled(t *testing.T, f fabric.LinkFaults, frames int) (got []openloop.Arrival,
	st fabric.FaultStats) {
	n := pairOf(t, fabric.HostConfig{})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, frames), nil)
	openloop.Put(n, n.Host(1), nil, func(a openloop.Arrival) { got = append(got, a) })
	port := n.Host(0).NIC().Ports()[0]
	require.NoError(t, port.SetFaults(f))
	run(t, n, units.Duration(frames)*100*units.Nanosecond+units.Millisecond)
	return got, port.FaultStats()
}

func TestFaultRates(t *testing.T) {
	const frames = 100_000
	for _, c := range []struct {
		name   string
		faults fabric.LinkFaults
		count  func(fabric.FaultStats) uint64
		arrive int // frames more or less, for each fault
	}{
		{"loss", fabric.LinkFaults{Lose: 0.05}, func(s fabric.FaultStats) uint64 {
			return s.Lost
		}, -1},
		{"duplication", fabric.LinkFaults{Duplicate: 0.05}, func(s fabric.FaultStats) uint64 {
			return s.Duplicated
		}, 1},
		{"reordering", fabric.LinkFaults{Reorder: 0.05}, func(s fabric.FaultStats) uint64 {
			return s.Reordered
		}, 0},
		{"corruption", fabric.LinkFaults{Corrupt: 0.05}, func(s fabric.FaultStats) uint64 {
			return s.Corrupted
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, st := spoiled(t, c.faults, frames)
			count := c.count(st)
			assert.InDelta(t, 0.05*frames, float64(count), 4*math.Sqrt(0.05*0.95*frames))
			assert.Len(t, got, frames+c.arrive*int(count))
			late := 0
			for i := 1; i < len(got); i++ {
				if got[i].Tag < got[i-1].Tag {
					late++
				}
			}
			if c.name == "reordering" {
				assert.NotZero(t, late)
			} else if c.name != "corruption" { // which may hit the tag
				assert.Zero(t, late)
			}
		})
	}
}

// In the bad state every frame is lost: bursts have a geometric length.
func TestGilbertElliott(t *testing.T) {
	const frames = 200_000
	got, st := spoiled(t,
		fabric.LinkFaults{Burst: fabric.GilbertElliott{ToBad: 0.01, ToGood: 0.2, LoseBad: 1}},
		frames)
	bad := 0.01 / (0.01 + 0.2)
	assert.InEpsilon(t, bad*frames, float64(st.Lost), 0.1)
	bursts := 0
	for i := 1; i < len(got); i++ {
		if got[i].Tag != got[i-1].Tag+1 {
			bursts++
		}
	}
	assert.InEpsilon(t, 5, float64(st.Lost)/float64(bursts), 0.1, "mean burst is 1/ToGood")
}

func TestDelaySpike(t *testing.T) {
	got, st := spoiled(t, fabric.LinkFaults{Spike: 0.001, SpikeBy: 50 * units.Microsecond}, 10_000)
	require.NotZero(t, st.Spiked)
	require.Len(t, got, 10_000)
	longest := units.Duration(0)
	for i := range got {
		assert.EqualValues(t, i, got[i].Tag)
		longest = max(longest, got[i].Arrived.Sub(got[i].Sent))
	}
	assert.Greater(t, longest, 50*units.Microsecond)
}

// A link that is down loses what is on it; switches take another way where there is one.
func TestLinkDown(t *testing.T) {
	shape := fabric.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 1,
		Host: fabric.Link{Rate: 100 * units.Gbps}, Up: fabric.Link{Rate: 100 * units.Gbps,
			Delay: units.Microsecond}}
	n := shape.Build(fabric.Parts{})
	require.NoError(t, n.Build())
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
	sink := openloop.Put(n, n.Host(1), nil, nil)
	run(t, n, 100*units.Microsecond)
	used := n.Path(0, 1, 0)[1]
	used.SetDown(true)
	before := sink.Received
	run(t, n, 100*units.Microsecond)
	assert.NotSame(t, used, n.Path(0, 1, 0)[1])
	assert.Greater(t, sink.Received, before+900)
	assert.NotZero(t, used.FaultStats().Down)
	for _, p := range n.Switches()[2].Ports()[1:] {
		p.SetDown(true)
	}
	run(t, n, 100*units.Microsecond)
	assert.Nil(t, n.Path(0, 1, 0))
	assert.NotZero(t, n.Switches()[2].Stats().NoRoute)
	before = sink.Received
	used.SetDown(false)
	run(t, n, 100*units.Microsecond)
	assert.Greater(t, sink.Received, before+900)
}

func TestImpossibleFaults(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	p := n.Host(0).NIC().Ports()[0]
	require.ErrorContains(t, p.SetFaults(fabric.LinkFaults{Lose: 1.5}), "not in 0..1")
	require.ErrorContains(t, p.SetFaults(fabric.LinkFaults{Lose: 0.6, Corrupt: 0.6}), "more than 1")
	require.ErrorContains(t,
		p.SetFaults(fabric.LinkFaults{Burst: fabric.GilbertElliott{ToBad: -1}}), "burst model")
	require.ErrorContains(t, p.SetFaults(fabric.LinkFaults{Reorder: 0.1, ReorderBy: -1}),
		"negative")
}
