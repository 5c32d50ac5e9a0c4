package transport

import "github.com/goroce/goroce/units"

// responseWait is the time until which an endpoint expects a response, and its poller should not
// sleep.
type responseWait struct {
	sentAt units.Time     // when a packet last left that requires a response
	until  units.Time     // a few round trips later
	rtt    units.Duration // smoothed time until a response
}

// How many of the endpoint's round trips a response may take, and the bounds of that time. A
// response that has not arrived by then waits for the peer, or was lost, which a timer detects.
const (
	responseWaitRTTs = 4
	minResponseWait  = 100 * units.Microsecond
	maxResponseWait  = 2 * units.Millisecond
)

// onSent records that a packet leaves that requires a response.
func (w *responseWait) onSent(now units.Time) {
	wait := min(max(responseWaitRTTs*w.rtt, minResponseWait), maxResponseWait)
	w.sentAt, w.until = now, now.Add(wait)
}

// onAllAcked records that a queue pair has nothing outstanding any more.
func (w *responseWait) onAllAcked(now units.Time) {
	w.rtt += (min(now.Sub(w.sentAt), maxResponseWait) - w.rtt) / 8
}
