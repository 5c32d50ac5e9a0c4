package tocc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// Every scheme has the properties of its paper, in the small network whose core carries an eighth
// of what hosts send.
func TestTokenSchemes(t *testing.T) {
	race.OneGoroutine(t)
	m := oversubscribed(experiment.Small, os100, cacheFollower, 0)
	m.Traffic.Flows = 100
	packets := units.Bytes(payload + tocc.PacketWire)
	for _, c := range []struct {
		scheme scheme
		holds  func(o *outcome)
	}{
		{credits, func(o *outcome) {
			assert.Zero(t, o.Lost+o.Trimmed+o.Again, "data has its credits")
			assert.Less(t, o.Buffer, 40*packets,
				"queues of a few packets at each of a switch's ports")
		}},
		{aeolus, func(o *outcome) {
			unscheduled := units.Bytes(0)
			for _, a := range o.Admitted {
				unscheduled += a.Gate.Stats().Unscheduled
			}
			assert.Positive(t, o.Lost)
			assert.LessOrEqual(t, o.Lost*float64(payload), float64(unscheduled),
				"only unscheduled packets are dropped")
			assert.LessOrEqual(t, o.Again, 1.05*o.Lost)
		}},
		{homa, func(o *outcome) {
			assert.Zero(t, o.Lost+o.Trimmed+o.Again, "priorities reorder, and nothing is lost")
			for _, a := range o.Admitted {
				bdp := 100 * units.Gbps.Bytes(6*units.Microsecond)
				assert.LessOrEqual(t, a.Gate.Stats().Unscheduled, bdp)
			}
		}},
		{ndp, func(o *outcome) {
			assert.Positive(t, o.Trimmed)
			assert.InDelta(t, o.Trimmed, o.Again, 0.05*o.Trimmed,
				"trimmed packets are sent again, and no others")
			assert.Less(t, o.Buffer, 9*9*packets+100_000,
				"eight packets at each of nine ports, and headers")
		}},
		{scheduled, func(o *outcome) {
			_, most := o.unused()
			assert.Zero(t, o.Lost+o.Again)
			assert.Zero(t, most, "total volume control")
		}},
	} {
		r := run{c.scheme, m.Network, m.Traffic}
		o, err := r.simulate(experiment.NewJob(context.Background(),
			experiment.Cell{Name: r.name()}, experiment.Small, 1, nil))
		require.NoError(t, err, c.scheme)
		assert.Zero(t, o.Timeouts, c.scheme)
		c.holds(o)
	}
}

// Groups of flows have equal bytes.
func TestParted(t *testing.T) {
	sizes := workload.Uniform(units.Bytes(1), 1001)
	for _, c := range []struct {
		most   units.Bytes
		n      int
		bounds []float64
	}{
		{units.Bytes(units.Forever), 1, nil},
		{units.Bytes(units.Forever), 2, []float64{707}}, // 1000 * sqrt(1/2)
		{units.Bytes(units.Forever), 4, []float64{500, 707, 866}},
		{500, 2, []float64{625}}, // 125 below 500, 250 above
	} {
		bounds := parted(sizes, c.most, c.n)
		require.Len(t, bounds, len(c.bounds), "%d of %d", c.n, c.most)
		for i, b := range c.bounds {
			assert.InDelta(t, b, float64(bounds[i]), 2)
		}
	}
}

// Small flows have the higher groups, classes and channels.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		scheme scheme
		specs  int
		groups int
	}{{homa, 1, 8}, {homaTwo, 1, 2}, {virtual, 12, 12}, {credits, 1, 1}} {
		r := run{Scheme: c.scheme, Network: os100, Traffic: traffic{Workload: webSearch}}
		o, err := r.order(schemes[c.scheme])
		require.NoError(t, err)
		assert.Len(t, o.specs, c.specs)
		assert.Len(t, o.bounds, c.groups-1)
		assert.Equal(t, c.groups-1, o.group(1))
		assert.Zero(t, o.group(units.Bytes(units.Forever)))
	}
}
