package transport

import "github.com/goroce/goroce/units"

// stake is the time until which an endpoint expects an answer, and its poller should not sleep.
type stake struct {
	asked units.Time     // when a packet last left that requires a response
	until units.Time     // a few round trips later
	trip  units.Duration // smoothed time until a response
}

// How many of the endpoint's round trips an answer may take, and the bounds of that time. An answer
// that has not come by then waits for the peer, or was lost, which a timer detects.
const (
	stakeTrips = 4
	leastStake = 100 * units.Microsecond
	mostStake  = 2 * units.Millisecond
)

// ask records that a packet leaves that requires a response.
func (s *stake) ask(now units.Time) {
	s.asked, s.until = now, now.Add(min(max(stakeTrips*s.trip, leastStake), mostStake))
}

// answered records that a queue pair has nothing outstanding any more.
func (s *stake) answered(now units.Time) {
	s.trip += (min(now.Sub(s.asked), mostStake) - s.trip) / 8
}
