package transport

import "github.com/goroce/goroce/units"

// peerAway is for how long a peer does not poll at times, in awayGrains: what it was last told, and
// what some hundred samples without such a time leave of that.
type peerAway uint16

const (
	awayGrain = 16 * units.Microsecond
	// longestAway bounds what a peer can make a timeout longer by.
	longestAway = 50 * units.Millisecond
)

// onSample takes in for how long the peer did not poll while it had a packet.
func (p *peerAway) onSample(away units.Duration) {
	if told := peerAway(min(away, longestAway) / awayGrain); told > *p && away > longestPhase {
		*p = told
	} else if *p > 0 {
		*p -= max(1, *p/512)
	}
}

// allowance is what a timeout is longer by: answers of such a peer may take so long though nothing
// is lost.
func (p peerAway) allowance() units.Duration { return 2 * units.Duration(p) * awayGrain }
