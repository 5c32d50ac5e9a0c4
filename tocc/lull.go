package tocc

import "github.com/goroce/goroce/units"

// sureOfLull is how many RTSs in a row tell of discarded tokens while nothing comes, before a
// receiver takes its sender for one that cannot send.
const sureOfLull = 16

// lull is that a sender discards all it is granted: its window is shut, say, and its timer is yet
// to find out that packets were lost. Tokens wait ever longer then, up to mostPatience: they would
// take the place of others'.
type lull struct {
	vain uint8
	over units.Time
}

// discarded is that the sender has told of discarded tokens again.
func (l *lull) discarded(least units.Duration, now units.Time) {
	if l.vain = min(l.vain+1, sureOfLull+doublings); l.vain > sureOfLull {
		l.over = now.Add(min(least<<(l.vain-sureOfLull-1), mostPatience))
	}
}
