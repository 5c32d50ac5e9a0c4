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
// and with Ended that at which the round is over. A phase that takes longer than maxPhase was
// interrupted: the thread lost its core.
type rounds struct {
	polledAt       units.Time     // when the newest round began
	ended          units.Time     // the newest time at which the endpoint was known to work
	empty          units.Time     // when the port was last found empty
	awaySinceEmpty units.Duration // for how much of the time since empty the endpoint did not poll

	stall       units.Duration // for how long it did not poll since the round before
	awayInRound units.Duration // of that, for how long it had lost its core in phases of this round

	gap  units.Duration // for how long the frames of this round have waited, at most
	away units.Duration // for how much of that the endpoint did not poll

	hasTx    bool                 // frames left in this round
	txStart  units.Time           // when the phase began in which frames leave
	txNumber uint32               // of the newest round in which frames left
	polling  polling              // since the endpoint was made
	absence  absence              // of peers
	txRounds [maxTxRounds]txRound // the newest of these, by number
}

// txRound is a round in which frames left, within duration of their send time.
type txRound struct {
	number   uint32
	duration uint32 // ns
	away     uint32 // ns of duration for which the thread had lost its core
}

const (
	// maxTxRounds is how many such rounds an endpoint keeps: more than there are in a round
	// trip, unless each takes too little time to matter.
	maxTxRounds = 256
	// maxPhase is longer than an endpoint takes to handle a burst of 32 frames of 9 KB, or to
	// send 64, and shorter than the slice that a scheduler gives another thread.
	maxPhase = 200 * units.Microsecond
)

// beginReceive starts a round. It returns the time since the end of the round before.
func (r *rounds) beginReceive(now units.Time, w *responseWait) (step units.Duration) {
	step = max(0, now.Sub(r.ended))
	r.polling.Rounds++
	if step >= minGap {
		r.onGap(step, r.ended.Before(w.until))
	}
	r.stall, r.awayInRound = r.awayInRound+step, 0
	r.awaySinceEmpty += step
	r.gap = max(0, now.Sub(r.empty))
	r.away = min(r.awaySinceEmpty, r.gap)
	r.polledAt, r.ended = now, now
	return step
}

// onPortEmpty records that the burst of this round emptied the port.
func (r *rounds) onPortEmpty() { r.empty, r.awaySinceEmpty = r.polledAt, 0 }

// isBehind reports whether the endpoint was away, and has not yet handled all that arrived
// meanwhile.
func (r *rounds) isBehind() bool { return r.empty != r.polledAt && r.away > maxPhase }

// beginTransmit starts the phase in which frames leave.
func (r *rounds) beginTransmit(now units.Time, w *responseWait) {
	r.endPhase(now, w)
	r.txStart, r.hasTx = now, false
}

// endPhase ends a phase. It returns for how long the thread had lost its core in it.
func (r *rounds) endPhase(now units.Time, w *responseWait) (away units.Duration) {
	duration := now.Sub(r.ended)
	if duration > maxPhase {
		away = duration
		r.onGap(duration, r.ended.Before(w.until))
	}
	r.awaySinceEmpty += away
	r.awayInRound += away
	r.ended = now
	return away
}

// txRound returns the number of this round, in which a frame leaves.
func (r *rounds) txRound() uint32 {
	if !r.hasTx {
		r.hasTx = true
		r.txNumber++
		r.txRounds[r.txNumber%maxTxRounds] = txRound{number: r.txNumber}
	}
	return r.txNumber
}

// txDelay returns how long frames of a round may have taken to leave, and for how much of that
// the thread had lost its core. It returns zero for a round that is no longer kept.
func (r *rounds) txDelay(number uint32) (duration, away units.Duration) {
	d := &r.txRounds[number%maxTxRounds]
	if d.number != number {
		return 0, 0
	}
	return units.Duration(d.duration) * units.Nanosecond, units.Duration(d.away) * units.Nanosecond
}

// Ended records when the round that began with the newest Poll was over, which found something to
// do. It is for real time; in virtual time rounds take none.
func (e *Endpoint) Ended(now units.Time) {
	r := &e.rounds
	away := r.endPhase(now, &e.responseWait)
	r.polling.BusyRounds++
	r.polling.Busy += now.Sub(r.polledAt) - r.awayInRound
	if r.hasTx {
		d := &r.txRounds[r.txNumber%maxTxRounds]
		d.duration, d.away = extension.Nanoseconds(now.Sub(r.txStart)), extension.Nanoseconds(away)
	}
}

// Idle records that the endpoint would have found nothing to do from its newest round until a given
// time. It is for virtual time, which skips such rounds.
func (e *Endpoint) Idle(until units.Time) {
	// otherwise the port may have had more frames
	if r := &e.rounds; r.empty == r.polledAt && until.After(r.ended) {
		r.polledAt, r.ended, r.empty, r.awaySinceEmpty = until, until, until, 0
	}
}
