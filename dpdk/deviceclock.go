package dpdk

import (
	"math/bits"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/units"
)

// findStamps turns on time stamps of received frames, if the device's clock can be read: without
// it a stamp cannot be converted.
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

// deviceClock converts time stamps of a device to the program's clock. It compares the two clocks
// from time to time, and interpolates between the two newest comparisons.
type deviceClock struct {
	read func() (uint64, error)
	now  func() units.Time

	at     units.Time // time of the newest comparison
	ticks  uint64
	scale  uint64 // picoseconds per tick, 32.32 fixed point; 0: not known yet
	again  uint64 // number of ticks after which to compare again
	placed bool   // at and ticks are valid
}

const (
	// compareAfter keeps two clocks that drift apart by 50 ppm within 5 ns, and the error of a
	// comparison below 20 ppm of the age of a stamp.
	compareAfter = 100 * units.Millisecond
	// firstAfter is the interval before the second comparison: until then there are no times.
	firstAfter = 10 * units.Millisecond
	// compareWithin is the longest duration of a comparison: during a longer one the core was
	// interrupted.
	compareWithin = 4 * units.Microsecond
)

// time returns the time of a stamp, or 0 if it is unknown. It compares the clocks when that is due.
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

// span returns the duration of a number of ticks.
func (c *deviceClock) span(ticks uint64) units.Duration {
	hi, lo := bits.Mul64(ticks, c.scale)
	return units.Duration(hi<<32 | lo>>32)
}

// compare reads both clocks. It discards a comparison that took too long.
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
		// the clock stands still, was set back, or leaps
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
