package tocc

import "github.com/goroce/goroce/units"

// stallThreshold is how many RTSs in a row report discarded tokens while no data arrives before the
// sender counts as stalled.
const stallThreshold = 16

// stallDetector detects a sender that discards every grant, for example because its window is shut
// and its timer has not yet detected lost packets. The delay of tokens then doubles up to
// mostPatience, so that they do not take the place of others'.
type stallDetector struct {
	vain uint8
	over units.Time
}

// discarded processes an RTS that reports newly discarded tokens.
func (l *stallDetector) discarded(least units.Duration, now units.Time) {
	if l.vain = min(l.vain+1, stallThreshold+doublings); l.vain > stallThreshold {
		l.over = now.Add(min(least<<(l.vain-stallThreshold-1), mostPatience))
	}
}
