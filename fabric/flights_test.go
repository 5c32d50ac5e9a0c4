package fabric

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// TestFlights checks that a ring keeps the order of its frames while it grows and wraps.
func TestFlights(t *testing.T) {
	var q flights
	in, out := 0, 0
	for round := range 100 {
		for range round % 7 * 3 {
			q.push(flight{units.Time(in), &frame{id: int32(in)}})
			in++
		}
		for range round % 5 * 4 {
			if q.empty() {
				break
			}
			assert.EqualValues(t, out, q.first().at)
			assert.EqualValues(t, out, q.pop().id)
			out++
		}
	}
	assert.Equal(t, in-out, int(q.tail-q.head))
}
