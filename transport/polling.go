package transport

import "github.com/goroce/goroce/units"

// Polling is how an endpoint was polled since it was created.
type Polling struct {
	Rounds uint64
	// Away is the time for which the endpoint was not polled: the polling thread napped, yielded to
	// another thread or did not have its core. Pauses between rounds of less than 5 µs do not
	// count.
	Away units.Duration
	// Stalled is the part of Away that began while an answer of a peer was expected.
	Stalled units.Duration
	// PeerAway is the time for which nothing was acknowledged because the peer did not poll, as
	// reported by delay samples (cc.Event.RemoteAway). Flows whose algorithm takes no delay
	// samples, or whose peer does not report, add nothing.
	PeerAway units.Duration
	// LongestGap is the longest single pause since ResetLongestGap.
	LongestGap units.Duration
}

// leastGap is longer than a round without work, or a yield that no other thread takes.
const leastGap = 5 * units.Microsecond

// missed records a time without polls.
func (p *Polling) missed(d units.Duration, atStake bool) {
	p.Away += d
	if atStake {
		p.Stalled += d
	}
	p.LongestGap = max(p.LongestGap, d)
}

// Polling returns the polling statistics of the endpoint. In virtual time, rounds that a simulation
// skips (Idle) are not pauses.
func (e *Endpoint) Polling() Polling { return e.rounds.polling }

// ResetLongestGap restarts the maximum LongestGap.
func (e *Endpoint) ResetLongestGap() { e.rounds.polling.LongestGap = 0 }

// absence is the absence of a peer that the newest delay sample of an endpoint reported.
type absence struct {
	sampled units.Time
	told    units.Duration
}

// onPeerAway records for how long the peer of a delay sample did not poll. All samples whose
// packets waited in the same absence report it, but it counts once.
func (r *rounds) onPeerAway(away units.Duration, now units.Time) {
	r.polling.PeerAway += r.absence.onSample(away, now)
}

// onSample returns which part of an absence is new. Nothing is acknowledged while the peer does not
// poll: an absence longer than the time since the previous sample was, at least in part, reported
// by that.
func (a *absence) onSample(away units.Duration, now units.Time) units.Duration {
	silence, before := now.Sub(a.sampled), a.told
	a.sampled, a.told = now, away
	if away <= silence {
		return away
	}
	return min(max(0, away-before), silence)
}
