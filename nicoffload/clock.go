package nicoffload

import "github.com/goroce/goroce/units"

// Clock follows another one that is heard of now and then: from the newest time heard it goes on as
// its own does. It never runs backwards. Two processes have no clock in common, for that of a
// polling core counts cycles.
type Clock struct {
	heard, at units.Time // what was heard, and when by the own clock
	now       units.Time // the newest answered
	set       bool
}

// believed is for how long two clocks are taken to run alike.
const believed = 100 * units.Millisecond

// Hear takes in what the other clock showed, by the own clock now. What comes late shows too
// little, so the most that was heard counts, for a while.
func (c *Clock) Hear(t, own units.Time) {
	if !c.set || t.After(c.heard.Add(own.Sub(c.at))) || own.Sub(c.at) > believed {
		c.heard, c.at, c.set = t, own, true
	}
}

// Now answers what the other one should show; 0 before it was heard.
func (c *Clock) Now(own units.Time) units.Time {
	if !c.set {
		return c.now
	}
	if t := c.heard.Add(own.Sub(c.at)); t.After(c.now) {
		c.now = t
	}
	return c.now
}
