package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// The paper's base round trip is 5.3 µs with packets of 1500 bytes; ours are shorter.
func TestBaseRTT(t *testing.T) {
	net := os100.Build(fabric.Parts{})
	cl, err := sim.New(sim.Scenario{Topology: sim.On(net), Hosts: sim.Hosts{PathMTU: payload},
		Scheme: sim.Scheme{Control: cc.Spec{}}})
	require.NoError(t, err)
	assert.InDelta(t, 5.3, cl.BaseRTT(0, os100.hosts()-1).Microseconds(), 0.2)
}

func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		network  network
		capacity units.BitRate
		over     float64
	}{
		{os100, 25 * units.Gbps, 4},
		{nb100, 100 * units.Gbps, 1},
		{os10, 2500 * units.Mbps, 4},
		{nb10, 10 * units.Gbps, 1},
		{os100.small(), 25 * units.Gbps, 4},
		{nb100.small(), 100 * units.Gbps, 1},
		{nb100.small().at(25 * units.Gbps), 25 * units.Gbps, 1},
	} {
		assert.Equal(t, c.capacity, c.network.capacity(), c.network.Name)
		assert.Equal(t, c.over, c.network.Oversubscription(), c.network.Name)
	}
}

// Load is bytes on the wire: a packet has 82 bytes besides its payload, the first of a message 16
// more, and an ACK 86.
func TestOnWire(t *testing.T) {
	assert.EqualValues(t, 1+82+16+86, onWire(1))
	assert.EqualValues(t, 1024+82+16+86, onWire(1024))
	assert.EqualValues(t, 1025+2*82+16+86, onWire(1025))
	// a few flows have more than one packet
	assert.InDelta(t, 187.5+1.05*82+16+86, meanOnWire(workload.Memcached), 1)
}

// The wire bytes of flows are those of Load, and incasts take a fifth of one host's link.
func TestTraffic(t *testing.T) {
	for _, name := range []string{memcached, webServer, cacheFollower, webSearch} {
		tr := flows(experiment.Full, name, 0.8, 30_000, 0)
		source, span, err := tr.source(os100, 1)
		require.NoError(t, err)
		wire, n := units.Bytes(0), 0
		for f, ok := source.Next(); ok; f, ok = source.Next() {
			wire += onWire(f.Bytes)
			n++
		}
		assert.InEpsilon(t, 30_000, n, 0.03, name)
		capacity := float64(os100.capacity()) * float64(os100.hosts())
		assert.InEpsilon(t, 0.8, 8*float64(wire)/span.Seconds()/capacity, 0.04, name)
	}
	tr := flows(experiment.Full, webServer, 0.8, 1_000_000, 0).mixed()
	source, span, err := tr.source(nb100, 1)
	require.NoError(t, err)
	wire, from := units.Bytes(0), map[int]int{}
	for f, ok := source.Next(); ok; f, ok = source.Next() {
		if f.Class == incastClass {
			wire += onWire(f.Bytes)
			from[f.Src]++
			require.Zero(t, f.Dst)
			require.True(t, 45_000 <= f.Bytes && f.Bytes <= 60_000)
		}
	}
	assert.Len(t, from, nb100.hosts()-1)
	// Whole rounds: 13.3 of them arrive in that time, and the thirteenth is whole.
	assert.InEpsilon(t, incastLoad, 8*float64(wire)/span.Seconds()/float64(nb100.Host.Rate), 0.08)
}

func TestClassOfFlow(t *testing.T) {
	for size, class := range map[units.Bytes]string{1: "tiny", 9_999: "tiny", 10_000: "small",
		100_000: "medium", 1_000_000: "medium", 1_000_001: "large"} {
		assert.Equal(t, class, finished{Flow: workload.Flow{Bytes: size}}.class())
	}
	assert.Equal(t, "incast", finished{Flow: workload.Flow{Bytes: 1, Class: incastClass}}.class())
}

// Every scheme delivers a flow of every class, and an incast, in a small network.
func TestSchemes(t *testing.T) {
	race.OneGoroutine(t)
	for name := range schemes {
		t.Run(string(name), func(t *testing.T) {
			r := run{name, nb100.small(), flows(experiment.Small, webServer, 0.5, 0, 100).mixed()}
			j := experiment.NewJob(t.Context(), experiment.Cell{Name: r.name(), Params: r},
				experiment.Small, 1, nil)
			require.NoError(t, serve(j))
			found := map[string]experiment.Values{}
			for n, v := range j.Record().Values() {
				found[n] = v
			}
			assert.Len(t, found["incast"], 15)
			assert.InDelta(t, 100, len(found["tiny"])+len(found["small"])+len(found["medium"]), 40)
			assert.GreaterOrEqual(t, found["incast slowdown"].Mean(), 2.0)
			assert.GreaterOrEqual(t, found["tiny slowdown"].Min(), 0.99)
			assert.Positive(t, found["bufmax"][0])
			assert.Equal(t, name == aeolus, found["lost"][0] > 0,
				"only selective drop loses packets")
		})
	}
}
