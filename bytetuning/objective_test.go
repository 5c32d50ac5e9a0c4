package bytetuning

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func sample(gbps float64, cells units.Bytes) Sample {
	return Sample{Throughput: units.BitRate(gbps * 1e9), Queue: cells * Cell}
}

// TestEnergy is equation 14 by hand.
func TestEnergy(t *testing.T) {
	o := NewObjective()
	a := &Measurement{Switches: []Sample{sample(20, 99), sample(10, 9)}}
	assert.True(t, o.Hear(a))
	assert.InDelta(t, 2, o.Energy(a), 1e-12, "the first holds all records")
	b := &Measurement{Switches: []Sample{sample(25, 199), sample(10, 4)}}
	assert.True(t, o.Hear(b))
	assert.InDelta(t, 0.5*(1+100./200)+0.5*(1+1), o.Energy(b), 1e-12)
	assert.InDelta(t, 0.5*(20./25+1)+0.5*(1+5./10), o.Energy(a), 1e-12, "by the new records")
	assert.False(t, o.Hear(a), "no record")

	idle := &Measurement{Switches: []Sample{sample(0, 0), sample(0, 0)}}
	o = NewObjective()
	o.Hear(idle)
	assert.InDelta(t, 1, o.Energy(idle), 1e-12, "an empty queue and no traffic divide by nothing")
}

// TestFairness: of two ways to share the same rate, equation 15 takes the equal one; (T_i - mean)²
// is not 0.
func TestFairness(t *testing.T) {
	o := &Objective{Beta: 1, Fair: true, Gamma: 2}
	of := func(a, b float64) *Measurement {
		return &Measurement{Switches: []Sample{sample(a+b, 0)},
			Flows: []Sample{sample(a, 0), sample(b, 0)}}
	}
	equal, apart := of(10, 10), of(15, 5)
	o.Hear(equal)
	o.Hear(apart)
	// T_max is 15 and 10.
	assert.InDelta(t, (10./15+1)/(2*1e-6), o.Energy(equal), 1e-3)
	assert.InDelta(t, (1+.5)/(2*(2*math.Pow(5./15, 2)+1e-6)), o.Energy(apart), 1e-9)
	assert.InDelta(t, 1,
		(&Objective{Beta: 1, Fair: true, Gamma: 1,
			switches: o.switches}).Energy(&Measurement{Switches: equal.Switches}), 1e-12,
		"without flows it is equation 14")
}

func TestObjectiveValidate(t *testing.T) {
	require.NoError(t, NewObjective().Validate())
	for _, o := range []Objective{{Beta: -1}, {Beta: math.NaN()}, {Beta: 1.1}, {Fair: true},
		{Fair: true, Gamma: math.NaN()}, {Gamma: math.Inf(1)}} {
		assert.Error(t, o.Validate(), "%+v", o)
	}
}

func TestSampleOf(t *testing.T) {
	s, err := SampleOf(1, 1e9, 512)
	require.NoError(t, err)
	assert.Equal(t, Sample{1, units.Gbps, 512}, s)
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 1e300} {
		_, err := SampleOf(0, v, 0)
		assert.ErrorIs(t, err, ErrTelemetry)
		_, err = SampleOf(0, 0, v)
		assert.ErrorIs(t, err, ErrTelemetry)
	}
}

func TestMeasurementValidate(t *testing.T) {
	assert.ErrorIs(t, (*Measurement)(nil).Validate(1), ErrTelemetry)
	assert.ErrorIs(t, (&Measurement{}).Validate(1), ErrTelemetry)
	assert.ErrorIs(t, (&Measurement{Switches: []Sample{{Layer: 1}}}).Validate(1), ErrTelemetry)
	assert.ErrorIs(t, (&Measurement{Switches: []Sample{{Throughput: -1}}}).Validate(1),
		ErrTelemetry)
	assert.ErrorIs(t,
		(&Measurement{Switches: []Sample{{}}, Flows: []Sample{{Queue: -1}}}).Validate(1),
		ErrTelemetry)
	assert.NoError(t, (&Measurement{Switches: []Sample{{}}}).Validate(1))
}
