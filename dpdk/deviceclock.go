package dpdk

import (
	"math/bits"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/units"
)

// findStamps makes the device's queues tell when frames arrived, if the clock it stamps them with
// can be read: a stamp nobody can place is worth nothing.
func (d *Device) findStamps() {
	stamps, err := ethdev.RegisterRxTimestamp()
	if err == nil {
		_, err = d.port.ReadClock()
	}
	if err != nil {
		d.opts.Logger.Info("device stamps frames, but its clock cannot be read", "port",
			d.url.String(), "error", err)
		return
	}
	d.stamps = stamps
}

// deviceClock tells stamps of a device by the program's clock. It compares the two now and then,
// and draws the line through the two newest comparisons.
type deviceClock struct {
	read func() (uint64, error)
	now  func() units.Time

	at     units.Time // of the newest comparison
	ticks  uint64
	scale  uint64 // picoseconds in a tick, 32.32 fixed point; 0: not known yet
	again  uint64 // ticks after which to compare again
	placed bool   // at and ticks say something
}

const (
	// compareAfter keeps two clocks that drift apart by 50 parts in a million within 5 ns, and what
	// a comparison may be wrong by to less than 20 parts in a million of a stamp's age.
	compareAfter = 100 * units.Millisecond
	// firstAfter is the same for the second comparison: until then there are no times.
	firstAfter = 10 * units.Millisecond
	// compareWithin is how long a comparison may take: during a longer one the core did something
	// else.
	compareWithin = 4 * units.Microsecond
)

// time answers when a stamp was made; 0 is unknown. It compares clocks when that is due.
func (c *deviceClock) time(stamp uint64) units.Time {
	if stamp == 0 {
		return 0
	}
	if !c.placed || c.scale == 0 || int64(stamp-c.ticks) >= int64(c.again) {
		c.compare()
	}
	if c.scale == 0 {
		return 0
	}
	if ago := int64(stamp - c.ticks); ago < 0 {
		return c.at.Add(-c.span(uint64(-ago)))
	}
	return c.at.Add(c.span(stamp - c.ticks))
}

// span is how long so many ticks are.
func (c *deviceClock) span(ticks uint64) units.Duration {
	hi, lo := bits.Mul64(ticks, c.scale)
	return units.Duration(hi<<32 | lo>>32)
}

// compare reads both clocks. What took too long says nothing.
func (c *deviceClock) compare() {
	before := c.now()
	if c.placed && c.scale == 0 && before.Sub(c.at) < firstAfter {
		return
	}
	ticks, err := c.read()
	took := c.now().Sub(before)
	if err != nil || took < 0 || took > compareWithin {
		return
	}
	at := before.Add(took / 2)
	if c.placed {
		real, elapsed := uint64(at.Sub(c.at)), ticks-c.ticks
		// it stands, was set back, or leaps
		if elapsed == 0 || elapsed>>63 != 0 || real>>31 >= elapsed {
			*c = deviceClock{read: c.read, now: c.now}
			return
		}
		c.scale, _ = bits.Div64(real>>32, real<<32, elapsed)
		if hi, lo := bits.Mul64(uint64(compareAfter), 1<<32); hi < c.scale {
			c.again, _ = bits.Div64(hi, lo, c.scale)
		}
	}
	c.at, c.ticks, c.placed = at, ticks, true
}
