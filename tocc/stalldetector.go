package tocc

import "github.com/goroce/goroce/units"

// stallThreshold is how many RTSs in a row report discarded tokens while no data arrives before the
// sender counts as stalled.
const stallThreshold = 16

// stallDetector detects a sender that discards every grant, for example because its window is shut
// and its timer has not yet detected lost packets. The delay of tokens then doubles up to
// maxBackoff, so that they do not displace tokens of other senders.
type stallDetector struct {
	discards uint8
	until    units.Time
}

// onDiscard processes an RTS that reports newly discarded tokens.
func (l *stallDetector) onDiscard(least units.Duration, now units.Time) {
	if l.discards = min(l.discards+1, stallThreshold+maxDoublings); l.discards > stallThreshold {
		l.until = now.Add(min(least<<(l.discards-stallThreshold-1), maxBackoff))
	}
}
