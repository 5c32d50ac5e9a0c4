package transport

import "github.com/goroce/goroce/units"

// leastGap is longer than a round without work, or a yield that no other thread takes.
const leastGap = 5 * units.Microsecond

// missed counts a time without polls.
func (r *rounds) missed(d units.Duration, atStake bool) {
	p := &r.polling
	p.Away += d
	if atStake {
		p.Stalled += d
	}
	p.LongestGap = max(p.LongestGap, d)
}

// absence is what the newest delay sample of an endpoint reported of its peer.
type absence struct {
	sampled units.Time
	told    units.Duration
}

// onPeerAway takes in for how long the peer of a delay sample did not poll. Samples whose packets
// waited
// in one such time all report it, but it counts once.
func (r *rounds) onPeerAway(away units.Duration, now units.Time) {
	r.polling.PeerAway += r.absence.onSample(away, now)
}

// onSample returns how much of what a sample reports is new. Nothing is acknowledged while the peer
// does not poll: a report of more than the time since the sample before has been made by that, at
// least in part.
func (a *absence) onSample(away units.Duration, now units.Time) units.Duration {
	silence, before := now.Sub(a.sampled), a.told
	a.sampled, a.told = now, away
	if away <= silence {
		return away
	}
	return min(max(0, away-before), silence)
}
