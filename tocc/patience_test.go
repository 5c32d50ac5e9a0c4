package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// Patience is twice the loop that was measured, and what a repeat had made of it until a loop goes
// by without one.
func TestPatience(t *testing.T) {
	p := newPatience(5 * us)
	lasts := func(d units.Duration) {
		t.Helper()
		assert.Equal(t, units.Time(d), p.until())
	}
	lasts(50 * us)
	p.timed(300 * us)
	lasts(600 * us)
	p.repeated()
	p.repeated()
	lasts(2400 * us)
	p.timed(us)
	lasts(1200 * us)
	p.timed(80 * us)
	lasts(2 * 262500 * units.Nanosecond)
	for range 100 {
		p.repeated()
	}
	lasts(mostPatience)
	p.timed(us)
	lasts(mostPatience)
	p.timed(us)
	assert.Less(t, p.until(), units.Time(mostPatience))
}

// A receiver whose sender is gone says so once in a second in the end.
func TestPatienceFades(t *testing.T) {
	p := newPatience(5 * us)
	p.fades = true
	for i := range 100 {
		p.repeated()
		if i < inVain {
			assert.LessOrEqual(t, p.until(), units.Time(mostPatience))
		}
	}
	assert.Equal(t, units.Time(256*mostPatience), p.until())
}
