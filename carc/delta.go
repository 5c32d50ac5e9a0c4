package carc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// delta computes the δ of formula (2) that covers the round trip. It runs where the speed v2 of
// the receiver's program is known: at the receiver, or, where responses return credits, at the
// sender. δ is what the program consumes in a round trip, v2·RTT, and at most as many as the
// credits that it is added to. It grows only while the receiver is idle, and is zero while more
// data is unconsumed than DDIO may write into the cache. The round trip is the path's, or the
// shortest one measured, without queueing in the network.
type delta struct {
	adapts   bool
	rtt      units.Duration // without the program's time
	perLine  float64        // the program's time for a line, in units.Duration; 0: unknown
	service  units.Duration // the peer's processing time of a request; 0: not announced
	estimate Lines          // v2·RTT
	lines    Lines          // δ
}

// smoothing is the weight of a new sample (OURS).
const smoothing = 1. / 8

func newDelta(o *options, rtt units.Duration) delta {
	return delta{adapts: o.adapts, rtt: rtt}
}

// onServiceTime records the announced processing time of a request.
func (l *delta) onServiceTime(served units.Duration) {
	if served > 0 {
		l.service = served
	}
}

// onLoneResponse records the latency of a response to a request of n lines that was outstanding
// alone, for a peer that does not announce its processing time. The latency beyond the shortest
// round trip counts as processing time.
func (l *delta) onLoneResponse(latency units.Duration, n Lines) {
	if l.service == 0 {
		l.rtt = min(l.rtt, latency)
		l.addSample(latency-l.rtt, n)
	}
}

// onResponse records a response to a request of n lines.
func (l *delta) onResponse(n Lines) {
	if l.service > 0 {
		l.addSample(l.service, n)
	}
}

// samplesPerRTT is the maximum number of samples of the program's speed in a round trip (OURS).
const samplesPerRTT = 4

// addSample records the time that the program took for some lines.
func (l *delta) addSample(took units.Duration, lines Lines) {
	if lines <= 0 || took <= 0 {
		return
	}
	line := float64(took) / float64(lines)
	if l.perLine == 0 {
		l.perLine = line
	}
	l.perLine += (line - l.perLine) * smoothing
	l.estimate = Lines(float64(l.rtt) / l.perLine)
}

// update recomputes δ for a number of credits and a state of the cache.
func (l *delta) update(credits Lines, state cc.CacheState) {
	most := min(l.estimate, credits)
	switch {
	case !l.adapts:
	case state&(cc.CacheBeyondDDIO|cc.CacheApproaching) != 0:
		l.lines = 0
	case state&cc.CacheIdle != 0:
		l.lines = most
	default:
		l.lines = min(l.lines, most)
	}
}
