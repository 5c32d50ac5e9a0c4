package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// A host that was absent for 10 ms has nothing unconsumed in that time, since nothing was
// delivered. Its program was not waiting for data.
func TestAbsenceIsNotIdle(t *testing.T) {
	for _, told := range []bool{false, true} {
		s := &Sensor{llc: units.MiB, ddio: units.MiB / 4, window: 20 * units.Microsecond}
		now := units.Time(units.Millisecond)
		s.onDelivered(4096, now)
		for range 100 { // a program that is always busy
			now = now.Add(10 * units.Microsecond)
			s.onDelivered(4096, now)
			s.onConsumed(4096, now)
		}
		assert.Zero(t, s.state&cc.CacheIdle)
		s.onConsumed(4096, now) // everything is consumed when the program loses its core
		now = now.Add(10 * units.Millisecond)
		if told {
			s.onAbsence(10*units.Millisecond, now)
			s.onAbsence(10*units.Millisecond, now) // for the next message of the round
		}
		s.onDelivered(4096, now)
		assert.Equal(t, !told, s.state&cc.CacheIdle != 0, "told %v", told)
	}
}
