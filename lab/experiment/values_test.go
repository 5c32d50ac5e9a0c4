package experiment

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValues(t *testing.T) {
	v := Values{3, 1, 2, 2}
	assert.Equal(t, 8.0, v.Sum())
	assert.Equal(t, 2.0, v.Mean())
	assert.Equal(t, 1.0, v.Min())
	assert.Equal(t, 3.0, v.Max())
	assert.Equal(t, Values{6, 2, 4, 4}, v.Scaled(2))
	assert.Equal(t, Values{3, 1, 2, 2}, v, "unchanged")
	for name, f := range map[string]func(Values) float64{"mean": Values.Mean, "min": Values.Min,
		"max": Values.Max} {
		assert.True(t, math.IsNaN(f(nil)), "%s of nothing", name)
	}
	assert.True(t, math.IsNaN(Values{}.Percentile(50)))
	assert.Zero(t, Values{}.Sum())
}

func TestPercentile(t *testing.T) {
	hundred, thousand := make(Values, 100), make(Values, 1000)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for i := range thousand {
		thousand[i] = float64(i + 1)
	}
	for _, c := range []struct {
		v       Values
		p, want float64
	}{
		{Values{7}, 0, 7},
		{Values{7}, 100, 7},
		{Values{15, 20, 35, 40, 50}, 5, 15},
		{Values{15, 20, 35, 40, 50}, 30, 20},
		{Values{15, 20, 35, 40, 50}, 40, 20},
		{Values{15, 20, 35, 40, 50}, 50, 35},
		{Values{15, 20, 35, 40, 50}, 100, 50},
		{hundred, 7, 7}, // 0.07*100 is more than 7 in floating point
		{hundred, 99, 99},
		{hundred, 99.9, 100},
		{thousand, 99.9, 999},
		{Values{1, math.Inf(1)}, 50, 1},
		{Values{1, math.Inf(1)}, 51, math.Inf(1)},
	} {
		assert.Equal(t, c.want, c.v.Percentile(c.p), "percentile %v of %d", c.p, len(c.v))
	}
}

// TestPercentileIsNearestRank: at least p percent of the values are not larger, and this is true of
// no smaller value.
func TestPercentileIsNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Values(rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 50).Draw(t, "values"))
		p := rapid.IntRange(1, 100).Draw(t, "p")
		got := v.Percentile(float64(p))
		require.Contains(t, v, got)
		upTo, below := 0, 0
		for _, x := range v {
			if x <= got {
				upTo++
			}
			if x < got {
				below++
			}
		}
		require.GreaterOrEqual(t, 100*upTo, p*len(v))
		require.Less(t, 100*below, p*len(v))
	})
}

// anyNumber generates any number; NaN only as the one that JSON decoding gives.
var anyNumber = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
	math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.Copysign(0, -1),
}))

func TestValuesAsJSON(t *testing.T) {
	text, err := json.Marshal(Values{1, -2.5, 1e300, math.Inf(1), math.Inf(-1), math.NaN()})
	require.NoError(t, err)
	assert.Equal(t, `[1,-2.5,1e+300,"+Inf","-Inf","NaN"]`, string(text))
	rapid.Check(t, func(t *rapid.T) {
		v := Values(rapid.SliceOf(anyNumber).Draw(t, "values"))
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var back Values
		require.NoError(t, json.Unmarshal(text, &back))
		require.True(t, slices.EqualFunc(v, back, same), "%v became %v", v, back)
	})
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func TestValuesAreNumbers(t *testing.T) {
	for _, text := range []string{`["1"]`, `["Inf"]`, `[null]`, `[true]`, `[[1]]`, `[1e999]`, `{}`,
		`1`} {
		var v Values
		assert.Error(t, json.Unmarshal([]byte(text), &v), text)
	}
}
