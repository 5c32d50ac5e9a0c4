package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// rounds is what an endpoint knows of its own polling. Without time stamps of the port, the arrival
// of a frame is only known to be after the port was last found empty, and its departure to be in a
// certain round. Delay samples carry both as bounds (cc.Event).
//
// A round has two phases: Receive, and Transmit. The poller passes the time at which each begins,
// and with Ended that at which the round is over. A phase that takes longer than longestPhase was
// interrupted: the thread lost its core.
type rounds struct {
	looked units.Time     // when the newest round began
	ended  units.Time     // the newest time at which the endpoint is known to have been at work
	empty  units.Time     // when the port was last found empty
	since  units.Duration // for how much of the time since empty the endpoint did not poll

	stall units.Duration // for how long it did not poll since the round before
	lost  units.Duration // of that, for how long it had lost its core in phases of this round

	gap  units.Duration // for how long the frames of this round have waited, at most
	away units.Duration // for how much of that the endpoint did not poll

	leaving bool                  // this round has a departure
	began   units.Time            // when the phase began in which frames leave
	number  uint32                // of the newest departure
	polling polling               // since the endpoint was made
	absence absence               // of peers
	left    [roundsKept]departure // the newest departures, by number
}

// departure is a round in which frames left, within took of their send time.
type departure struct {
	number uint32
	took   uint32 // ns
	away   uint32 // ns of took for which the thread had lost its core
}

const (
	// roundsKept is how many departures an endpoint keeps: more than there are in a round trip,
	// unless each takes too little time to matter.
	roundsKept = 256
	// longestPhase is longer than an endpoint takes to handle a burst of 32 frames of 9 KB, or to
	// send 64, and shorter than the slice that a scheduler gives another thread.
	longestPhase = 200 * units.Microsecond
)

// begin starts a round.
func (r *rounds) begin(now units.Time, s *stake) {
	step := max(0, now.Sub(r.ended))
	r.polling.Rounds++
	if step >= leastGap {
		r.missed(step, r.ended.Before(s.until))
	}
	r.stall, r.lost = r.lost+step, 0
	r.since += step
	r.gap = max(0, now.Sub(r.empty))
	r.away = min(r.since, r.gap)
	r.looked, r.ended = now, now
}

// drained records that the burst of this round emptied the port.
func (r *rounds) drained() { r.empty, r.since = r.looked, 0 }

// behind reports whether the endpoint was away, and has not yet handled all that arrived meanwhile.
func (r *rounds) behind() bool { return r.empty != r.looked && r.away > longestPhase }

// transmits starts the phase in which frames leave.
func (r *rounds) transmits(now units.Time, s *stake) {
	r.interrupted(now, s)
	r.began, r.leaving = now, false
}

// interrupted ends a phase. It returns for how long the thread had lost its core in it.
func (r *rounds) interrupted(now units.Time, s *stake) (away units.Duration) {
	took := now.Sub(r.ended)
	if took > longestPhase {
		away = took
		r.missed(took, r.ended.Before(s.until))
	}
	r.since += away
	r.lost += away
	r.ended = now
	return away
}

// departure returns the number of this round's departure.
func (r *rounds) departure() uint32 {
	if !r.leaving {
		r.leaving = true
		r.number++
		r.left[r.number%roundsKept] = departure{number: r.number}
	}
	return r.number
}

// departed returns how long frames of a departure may have taken to leave, and for how much of that
// the thread had lost its core. It returns zero for a departure that is no longer kept.
func (r *rounds) departed(number uint32) (took, away units.Duration) {
	d := &r.left[number%roundsKept]
	if d.number != number {
		return 0, 0
	}
	return units.Duration(d.took) * units.Nanosecond, units.Duration(d.away) * units.Nanosecond
}

// Ended records when the round that began with the newest Poll was over. It is for real time; in
// virtual time rounds take none.
func (e *Endpoint) Ended(now units.Time) {
	r := &e.rounds
	away := r.interrupted(now, &e.stake)
	if r.leaving {
		d := &r.left[r.number%roundsKept]
		d.took, d.away = extension.Nanoseconds(now.Sub(r.began)), extension.Nanoseconds(away)
	}
}

// Idle records that the endpoint would have found nothing to do from its newest round until a given
// time. It is for virtual time, which skips such rounds.
func (e *Endpoint) Idle(until units.Time) {
	// otherwise the port may have had more frames
	if r := &e.rounds; r.empty == r.looked && until.After(r.ended) {
		r.looked, r.ended, r.empty, r.since = until, until, until, 0
	}
}
