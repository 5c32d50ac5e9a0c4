package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/units"
)

func TestKeyed(t *testing.T) {
	r := NewResults(Small, nil)
	r.Claim("fixed", With("mean", 1.5).With("same", true).With("after", units.Microsecond))
	r.Claim("each", Each([]int{2, 8}, func(n int) float64 { return float64(n) / 2 }))
	values, _, err := r.Verdicts()
	require.NoError(t, err)
	assert.Equal(t, claims.Value{}.With("mean", claims.Number(1.5)).With("same", claims.Bool(true)).
		With("after", claims.Time(units.Microsecond)), values["fixed"])
	assert.Equal(t, claims.Value{}.With("2", claims.Number(1)).With("8", claims.Number(4)),
		values["each"])
	r.Claim("wrong", With("key", 'x'))
	_, _, err = r.Verdicts()
	assert.EqualError(t, err, "claim wrong: key: a value cannot be a int32")
}
