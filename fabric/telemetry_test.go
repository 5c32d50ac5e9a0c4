package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

func TestSeriesIsWeightedByTime(t *testing.T) {
	var s fabric.Series
	for _, p := range []struct {
		at units.Time
		v  float64
	}{{0, 10}, {100, 99}, {100, 20}, {400, 0}} { // 10 for 100, 20 for 300, then 0
		s.Add(p.at, p.v)
	}
	assert.Equal(t, 17.5, s.Mean(0, 400))
	assert.Equal(t, 15.0, s.Mean(50, 150))
	assert.Equal(t, 10.0, s.Percentile(25, 0, 400))
	assert.Equal(t, 20.0, s.Percentile(26, 0, 400))
	assert.Equal(t, 0.0, s.Percentile(50, 0, 800))
	assert.Equal(t, 20.0, s.Max(0, 800))
	assert.Zero(t, s.Mean(5, 5))
}

func TestSamples(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{})
	rate := n.SampleRate(10*units.Microsecond, func() uint64 {
		return n.Host(0).NIC().Ports()[0].Stats().Bytes
	})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
	openloop.Put(n, n.Host(1), nil, nil)
	queue := n.Switches()[0].Ports()[1].RecordQueue(0)
	run(t, n, 100*units.Microsecond)
	require.Len(t, rate.Values, 11)
	assert.Zero(t, rate.Values[0])
	assert.InEpsilon(t, 100e9, rate.Values[5], 0.011)
	assert.LessOrEqual(t, queue.Max(0, n.Now()), 1230.0)
}
