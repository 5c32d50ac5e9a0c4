package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// Tables may have more priorities than switches have classes. They cost delay: a flow keeps
// i·(A+B) of queue, and its round trips, once per which it grows, are as long.
func TestManyPriorities(t *testing.T) {
	race.OneGoroutine(t)
	for _, c := range []struct {
		settings  string
		high, low int     // indices, from 1
		queue     float64 // us
		within    float64 // ms
	}{
		{"n=32", 32, 1, 128, 1},
		{"n=32", 32, 31, 128, 4},
		{"n=64", 64, 1, 256, 2},
		{"n=64,a=1.2us,b=0.4us", 64, 1, 102.4, 1},
	} {
		m := newModel(plain, 1)
		m.noise = 300 * units.Nanosecond
		more := "," + remedies[1:] + ",high=0,direct=0,"
		for range 2 {
			m.add(t, "low", specOf(t, "swift", c.settings+more+"low=1", c.low-1), 0, 0)
			m.add(t, "high", specOf(t, "swift", c.settings+more+"low=0", c.high-1),
				5*units.Millisecond, 0)
		}
		m.run(15 * units.Millisecond)
		up := m.since(m.share("high"), 5*units.Millisecond, 0.95)
		queue := mean(m.backlog[14*units.Millisecond/m.bin:])
		t.Logf("%s: %d over %d: %.2f ms to take over, then %.0f us of queue", c.settings, c.high,
			c.low, up, queue)
		assert.Positive(t, up)
		assert.Less(t, up, c.within)
		assert.InDelta(t, c.queue, queue, 4)
		assert.Greater(t, mean(m.share("high")[14*units.Millisecond/m.bin:]), 0.98)
	}
}
