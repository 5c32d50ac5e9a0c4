package goroce

import (
	"math/bits"
	"sync"
	"time"

	"github.com/goroce/goroce/units"
)

// clock turns the processor's cycle counter into Time: one read of it costs a third of what asking
// the kernel's page does, and a polling core asks in every round.
type clock struct {
	start  uint64 // cycles at the epoch
	factor uint64 // picoseconds in a cycle, 32.32 fixed point
}

// calibration is how long the cycle counter is compared with the system's clock: long enough that
// the error of reading both, some 50 ns, is less than 1 in 100 000.
const calibration = 10 * time.Millisecond

// processClock is one clock for all hosts of a process, so that their times can be compared.
var processClock = sync.OnceValue(func() *clock {
	t0, c0 := time.Now(), cycles()
	time.Sleep(calibration)
	d, c := time.Since(t0), cycles()-c0
	if c == 0 {
		c = 1
	}
	hi, lo := bits.Mul64(uint64(units.FromStd(d)), 1<<32)
	factor, _ := bits.Div64(hi%c, lo, c)
	return &clock{start: c0, factor: factor}
})

// Now answers the time since the epoch, the first use of the clock.
func (c *clock) Now() units.Time {
	hi, lo := bits.Mul64(cycles()-c.start, c.factor)
	return units.Time(hi<<32 | lo>>32)
}
