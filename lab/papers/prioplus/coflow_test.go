package prioplus

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Every class of coflows and of requests has a sixteenth of the load. Requests are 20 flows of the
// same size.
func TestCoflowTraffic(t *testing.T) {
	n := coflowNetworkAt(experiment.Full, load70)
	n.span = units.Second / 2 // so that there are many of the largest
	source, err := n.traffic(load70, 1)
	require.NoError(t, err)
	var bytes [2 * coflowGroups]units.Bytes
	flows := map[int]int{}
	for f, ok := source.Next(); ok && f.At < units.Time(n.span); f, ok = source.Next() {
		bytes[f.Class] += f.Bytes
		if f.Class >= coflowGroups {
			flows[f.Group]++
			require.Equal(t, units.Bytes(f.Class-coflowGroups+1)*500_000, f.Bytes)
		}
	}
	for class, b := range bytes {
		load := float64(b.Bits()) / n.span.Seconds() / float64(n.clos.Host.Rate) /
			float64(n.hosts())
		assert.InEpsilon(t, load70/16, load, 0.25, "class %d", class)
	}
	for _, count := range flows {
		assert.Equal(t, 20, count)
	}
}

// The gain is the ratio of mean completion times over all coflows of the priorities; the tail is
// the mean of the priorities' percentiles.
func TestCoflowMetrics(t *testing.T) {
	record := func(c coflowCell, seed uint64, low, high []float64) experiment.Done {
		j := experiment.NewJob(context.Background(), experiment.Cell{Name: c.name(), Params: c},
			experiment.Full, seed, nil)
		for p := range coflowGroups {
			j.Value(cct(p))
		}
		j.Value(cct(0), low...)
		j.Value(cct(7), high...)
		return experiment.Done{Cell: j.Cell, Seed: seed, Record: j.Record()}
	}
	a, b := at(load70, virtualSwift), at(load70, physical)
	r := experiment.NewResults(experiment.Full, []experiment.Done{
		record(a, 1, []float64{4}, []float64{1}), record(a, 2, nil, []float64{1, 2}),
		record(b, 1, []float64{2}, []float64{2}), record(b, 2, nil, []float64{2, 4}),
	})
	assert.InDelta(t, 10./4/(8./4)-1, gain(r.Pool, meanCCT, a, b, allEight), 1e-12)
	assert.InDelta(t, 8./4-1, gain(r.Pool, meanCCT, a, b, higherFour), 1e-12)
	assert.InDelta(t, (2.+4)/(4+2)-1, gain(r.Pool, tailCCT, a, b, allEight), 1e-12)
	bySeeds := bySeed(r, func(p experiment.Pool) float64 {
		return gain(p, meanCCT, a, b, allEight)
	})
	assert.InDeltaSlice(t, []float64{4./5 - 1, 1}, []float64(bySeeds), 1e-12)
}
