package transport

import "github.com/goroce/goroce/units"

// Polling is how an endpoint was polled since it was made.
type Polling struct {
	Rounds uint64
	// Away is the time in which the endpoint was not polled: naps, yields that another thread took,
	// and times in which the polling thread did not have its core. Pauses between rounds of less
	// than 5 µs do not count.
	Away units.Duration
	// Stalled is the part of Away that began while an answer of a peer was expected.
	Stalled units.Duration
	// PeerAway is the time in which nothing was acknowledged because the peer did not poll, as
	// delay samples report it (cc.Event's RemoteAway). Flows whose algorithm takes no delay
	// samples, or whose peer does not report, add nothing.
	PeerAway units.Duration
	// LongestGap is the longest single pause since ResetLongestGap.
	LongestGap units.Duration
}

// leastGap is longer than a round without work, or a yield that no other thread takes.
const leastGap = 5 * units.Microsecond

// missed counts a time without polls.
func (p *Polling) missed(d units.Duration, atStake bool) {
	p.Away += d
	if atStake {
		p.Stalled += d
	}
	p.LongestGap = max(p.LongestGap, d)
}

// Polling returns the polling statistics of the endpoint. In virtual time the rounds that a
// simulation skips (Idle) are no gaps.
func (e *Endpoint) Polling() Polling { return e.rounds.polling }

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
