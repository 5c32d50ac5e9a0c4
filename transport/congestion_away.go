package transport

import "github.com/goroce/goroce/units"

// peerAway is for how long a peer stops polling at times, in units of awayGrain: the longest time
// reported, which decays over some hundred samples without such a time.
type peerAway uint16

const (
	awayGrain = 16 * units.Microsecond
	// maxAway bounds how much longer a peer can make a timeout.
	maxAway = 50 * units.Millisecond
)

// onSample applies a sample whose peer did not poll for the time away while it had the packet.
func (p *peerAway) onSample(away units.Duration) {
	if sample := peerAway(min(away, maxAway) / awayGrain); sample > *p && away > maxPhase {
		*p = sample
	} else if *p > 0 {
		*p -= max(1, *p/512)
	}
}

// allowance returns by how much a timeout is longer: responses of such a peer may take that long
// though nothing is lost.
func (p peerAway) allowance() units.Duration { return 2 * units.Duration(p) * awayGrain }
