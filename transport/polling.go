package transport

import "github.com/goroce/goroce/units"

// minGap is longer than a round without work, or a yield that no other thread takes.
const minGap = 5 * units.Microsecond

// onGap records a time without polls.
func (r *rounds) onGap(d units.Duration, expectsResponse bool) {
	p := &r.polling
	p.Away += d
	if expectsResponse {
		p.Stalled += d
	}
	p.LongestGap = max(p.LongestGap, d)
}

// absence is the absence of a peer that the newest delay sample of an endpoint reported.
type absence struct {
	sampled  units.Time
	reported units.Duration
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
	sinceSample, before := now.Sub(a.sampled), a.reported
	a.sampled, a.reported = now, away
	if away <= sinceSample {
		return away
	}
	return min(max(0, away-before), sinceSample)
}
