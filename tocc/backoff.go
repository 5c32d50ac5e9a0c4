package tocc

import "github.com/goroce/goroce/units"

const (
	// minBackoff and maxBackoff bound the time before either end repeats a message, where tokens
	// take no longer.
	minBackoff = 50 * units.Microsecond
	maxBackoff = 4 * units.Millisecond

	// maxDoublings are enough to reach maxBackoff. A receiver whose sender has not responded to
	// maxUnanswered repetitions, in a tenth of a second, considers it gone and repeats ever more
	// slowly, down to once per second. A sender that is alive sends an RTS.
	maxDoublings  = 9
	maxUnanswered = 30

	// probeTimeout is how long the reply to a probe may take.
	probeTimeout = units.Millisecond
)

// backoff computes when an end that waits for the other repeats its message: after twice the
// measured response time, which includes the queueing of tokens, doubled with each repetition that
// gets no response. As with retransmissions (Karn and Partridge, SIGCOMM 1987), a response after a
// repetition is ambiguous: it gives no sample, and the interval decreases by one doubling only.
type backoff struct {
	floor        units.Duration // least interval on this path
	responseTime units.Duration // smoothed response time of the other end
	progressAt   units.Time
	sentAt       units.Time // when the end last sent a message
	retries      uint8      // repetitions since the last progress
	// after maxUnanswered repetitions the interval may exceed maxBackoff
	unlimited bool
	ambiguous bool // a message was repeated since the last sample
}

func newBackoff(baseRTT units.Duration) backoff {
	return backoff{floor: min(max(3*baseRTT, minBackoff), maxBackoff)}
}

// restart begins a new wait.
func (p *backoff) restart(now units.Time) { p.progressAt, p.retries, p.ambiguous = now, 0, false }

// addSample records a response time.
func (p *backoff) addSample(d units.Duration) {
	switch {
	case !p.ambiguous:
		p.responseTime, p.retries = max(d, p.responseTime-p.responseTime/8), 0
	case p.retries > 0:
		p.retries = min(p.retries, maxDoublings) - 1
	}
	p.ambiguous = false
}

// onRepeat records a repetition.
func (p *backoff) onRepeat() { p.retries, p.ambiguous = min(p.retries+1, maxUnanswered+8), true }

// deadline returns when the message is to be repeated.
func (p *backoff) deadline() units.Time {
	since := p.progressAt
	if p.sentAt.After(since) {
		since = p.sentAt
	}
	most := max(maxBackoff, 4*p.responseTime)
	if p.unlimited && p.retries > maxUnanswered {
		most <<= p.retries - maxUnanswered
	}
	return nonZero(since.Add(min(max(p.floor, 2*p.responseTime)<<min(p.retries, maxDoublings+8),
		most)))
}
