package transport

import "github.com/goroce/goroce/units"

// stake is until when an endpoint expects an answer: whoever polls it should not sleep before.
type stake struct {
	asked units.Time     // something left that the peer answers
	until units.Time     // a few round trips later
	trip  units.Duration // smoothed: how long answers take
}

// Of how many round trips of the endpoint an answer may take, and the bounds of that. An answer
// that has not come by then waits for the peer, or was lost, which a timer finds out.
const (
	stakeTrips = 4
	leastStake = 100 * units.Microsecond
	mostStake  = 2 * units.Millisecond
)

// ask notes that something leaves that the peer answers.
func (s *stake) ask(now units.Time) {
	s.asked, s.until = now, now.Add(min(max(stakeTrips*s.trip, leastStake), mostStake))
}

// answered notes that nothing of a queue pair is outstanding any more.
func (s *stake) answered(now units.Time) {
	s.trip += (min(now.Sub(s.asked), mostStake) - s.trip) / 8
}
