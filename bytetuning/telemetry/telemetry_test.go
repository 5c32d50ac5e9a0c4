package telemetry

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func TestAggregates(t *testing.T) {
	samples := []float64{3, 1, 2}
	for a, want := range map[Aggregate]float64{Min: 1, Max: 3, Sum: 6, Mean: 2, P99: 3} {
		got, err := ParseAggregate(string(a))
		require.NoError(t, err)
		assert.Equal(t, want, got.Of(samples), a)
		assert.True(t, math.IsNaN(a.Of(nil)), a)
		assert.True(t, math.IsNaN(a.Of([]float64{1, math.NaN(), 2})), a)
	}
	_, err := ParseAggregate("median")
	assert.ErrorContains(t, err, `"median"`)
	many := make([]float64, 200)
	for i := range many {
		many[i] = float64(200 - i)
	}
	assert.Equal(t, 198., P99.Of(many), "the nearest rank: 99 % are no larger")
}

// TestINTInfersThroughput: equation 16 on packets of one size gives back their rate, to a report.
func TestINTInfersThroughput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(100, 10_000).Draw(t, "packets")
		size := units.Bytes(rapid.IntRange(64, 4200).Draw(t, "size"))
		c := Collector{Source: Source{Name: "int", Sampling: 1. / 16}}
		var now units.Time
		for i := range n {
			now = now.Add(us)
			c.Packet(now, size, units.Bytes(i))
		}
		period := units.Duration(n) * us
		s, err := c.Sample(0, now, period)
		require.NoError(t, err)
		require.Equal(t, n/16, c.Reports())
		require.InDelta(t, 8*float64(size)/us.Seconds(), float64(s.Throughput),
			8*16*float64(size)/period.Seconds()+1)
	})
}

func TestONTCountsBytes(t *testing.T) {
	ont, err := Named("ONT")
	require.NoError(t, err)
	c := Collector{Source: ont.Compressed(2 * units.Millisecond), Queue: Max}
	assert.Equal(t, 2*units.Millisecond, c.Period)
	for i := range 6 {
		c.Poll(units.Time(i)*units.Time(c.Period), uint64(i)*6_250_000, units.Bytes(1000*(i%3)))
	}
	s, err := c.Sample(1, units.Time(5*c.Period), 5*c.Period)
	require.NoError(t, err)
	assert.Equal(t, bytetuning.Sample{Layer: 1, Throughput: 25 * units.Gbps, Queue: 2000}, s)
}

func TestUnusable(t *testing.T) {
	ont, _ := Named("ont")
	c := Collector{Source: ont, MaxAge: 2 * units.Second}
	_, err := c.Sample(0, 0, units.Second)
	assert.ErrorIs(t, err, bytetuning.ErrTelemetry, "nothing")
	c.Poll(0, 1000, 0)
	_, err = c.Sample(0, 0, units.Second)
	assert.ErrorContains(t, err, "told nothing", "one reading is no rate")
	c.Poll(units.Time(units.Second), 500, 0)
	_, err = c.Sample(0, units.Time(units.Second), units.Second)
	assert.ErrorContains(t, err, "the counter went from 1000 to 500")
	c.Poll(units.Time(2*units.Second), 2000, 0)
	_, err = c.Sample(0, units.Time(5*units.Second), units.Second)
	assert.ErrorContains(t, err, "is stale, 3s old")
	_, err = Named("gossip")
	assert.ErrorContains(t, err, "there are int, ont, sflow, snmp")
}

// TestOverhead: INT at a thousand samples a second costs less than ONT at one.
func TestOverhead(t *testing.T) {
	n := Cluster()
	n.Packets = 3e6 // one 25 Gb/s port of 1 KB packets
	for _, name := range Names() {
		s, err := Named(name)
		require.NoError(t, err)
		t.Logf("%-5s %7v a sample, %v", name, s.SampleBytes(n), s.Overhead(n))
		assert.Positive(t, s.Overhead(n))
	}
	ont, _ := Named("ont")
	int_, _ := Named("int")
	assert.Less(t, int_.Overhead(n), ont.Overhead(n))
}
