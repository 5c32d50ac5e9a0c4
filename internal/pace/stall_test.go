package pace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

// A flow catches up on what it missed in a round, but not on what it missed while the host stalled:
// its packets then leave at its rate.
func TestNoBurstAfterAStall(t *testing.T) {
	const rate = 10 * units.Gbps
	each := rate.Duration(length) // 3.3 us
	for _, c := range []struct {
		name  string
		away  units.Duration // between two calls of Head; less than 0: the host stalled for so long
		burst int            // packets that leave at once
	}{
		{"in time", each, 1},
		{"a long round", 200 * units.Microsecond, int(200*units.Microsecond/each) + 1},
		{"a long round without Resume", 10 * units.Millisecond,
			int(10*units.Millisecond/each) + 1},
		{"a stall", -10 * units.Millisecond, 1},
	} {
		l := pace.NewLimiter(0, pace.PacketSlot)
		now := units.Time(0).Add(units.Millisecond)
		l.Head(now)
		l.Rate(1, rate, now)
		l.Wait(1, length, now)
		leave := func() (n int) {
			for f, some := l.Head(now); some; f, some = l.Head(now) {
				l.Sent(f, length)
				l.Again(f, length)
				n++
			}
			return n
		}
		for range 100 { // as fast as its rate
			now = now.Add(units.Microsecond)
			leave()
		}
		next, _ := l.Next()
		now = next
		leave()
		if now = now.Add(max(c.away, -c.away)); c.away < 0 {
			l.Resume(now)
		}
		assert.InDelta(t, c.burst, leave(), 1, c.name)
		left := 0
		for range 1000 {
			now = now.Add(units.Microsecond)
			left += leave()
		}
		assert.InDelta(t, float64(units.Millisecond)/float64(each), left, 2,
			"%s: at its rate afterwards", c.name)
	}
}
