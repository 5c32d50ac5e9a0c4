package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// A host that did not poll for 10 ms has nothing unconsumed in that time, for nothing was
// delivered; its program did not wait for data for all that.
func TestAbsenceIsNoIdleProgram(t *testing.T) {
	for _, told := range []bool{false, true} {
		s := &Sensor{llc: units.MiB, ddio: units.MiB / 4, window: 20 * units.Microsecond}
		now := units.Time(units.Millisecond)
		s.grew(4096, now)
		for range 100 { // a program that is always busy
			now = now.Add(10 * units.Microsecond)
			s.grew(4096, now)
			s.shrank(4096, now)
		}
		assert.Zero(t, s.state&cc.CacheIdle)
		s.shrank(4096, now) // it has consumed all that was there when its core was taken away
		now = now.Add(10 * units.Millisecond)
		if told {
			s.away(10*units.Millisecond, now)
			s.away(10*units.Millisecond, now) // with the next message of the same round
		}
		s.grew(4096, now)
		assert.Equal(t, !told, s.state&cc.CacheIdle != 0, "told %v", told)
	}
}
