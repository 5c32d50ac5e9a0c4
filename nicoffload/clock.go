package nicoffload

import "github.com/goroce/goroce/units"

// Clock follows another clock that is read now and then: it extrapolates from the newest reading
// with the local clock, and never runs backwards. Two processes have no common clock, since a
// polling core's counts cycles.
type Clock struct {
	reading, at units.Time // the reading, and the local time at which it was made
	now         units.Time // the newest time returned
	set         bool
}

// maxExtrapolation is the time after which a new reading replaces the old one in any case.
const maxExtrapolation = 100 * units.Millisecond

// Update adds a reading t of the other clock, made at the local time own. A delayed reading is too
// low, so within the time maxExtrapolation the highest one counts.
func (c *Clock) Update(t, own units.Time) {
	if !c.set || t.After(c.reading.Add(own.Sub(c.at))) || own.Sub(c.at) > maxExtrapolation {
		c.reading, c.at, c.set = t, own, true
	}
}

// Now returns the estimated time of the other clock; 0 before the first reading.
func (c *Clock) Now(own units.Time) units.Time {
	if !c.set {
		return c.now
	}
	if t := c.reading.Add(own.Sub(c.at)); t.After(c.now) {
		c.now = t
	}
	return c.now
}
