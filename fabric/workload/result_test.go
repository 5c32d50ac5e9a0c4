package workload

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

func TestIdealAndSlowdown(t *testing.T) {
	// 1 MB at 80 Gb/s of payload is 100 us.
	ideal := Ideal(1_000_000, 12*units.Microsecond, 80*units.Gbps)
	assert.Equal(t, 112*units.Microsecond, ideal)
	r := Result{Flow: Flow{At: units.Time(units.Second)},
		Done: units.Time(units.Second + 224*units.Microsecond), Ideal: ideal}
	assert.Equal(t, 224*units.Microsecond, r.FCT())
	assert.Equal(t, 2.0, r.Slowdown())
	r.Ideal = 0
	assert.Equal(t, math.Inf(1), r.Slowdown())
	assert.Equal(t, units.Forever, Ideal(1, units.Microsecond, 0))
}

func TestGroups(t *testing.T) {
	assert.Empty(t, Groups(nil))
	assert.Equal(t, []Group{
		{ID: 2, Flows: 1, Bytes: 7, At: 5, Done: 6},
		{ID: 4, Flows: 3, Bytes: 6, At: 1, Done: 9},
	}, Groups([]Result{
		{Flow: Flow{Group: 4, At: 2, Bytes: 1}, Done: 4},
		{Flow: Flow{Group: -1, At: 0, Bytes: 100}, Done: 50},
		{Flow: Flow{Group: 4, At: 1, Bytes: 2}, Done: 3},
		{Flow: Flow{Group: 2, At: 5, Bytes: 7}, Done: 6},
		{Flow: Flow{Group: 4, At: 3, Bytes: 3}, Done: 9},
	}))
	assert.Equal(t, units.Duration(8), Group{At: 1, Done: 9}.CCT())
}
