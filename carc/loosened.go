package carc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// loosened is the δ of formula (2) that covers the round trip, for who knows how fast the
// receiver's program is with this connection: the receiver itself, or, where responses return
// credits, their sender. It is what the program consumes in a round trip, v2·RTT, at most as much
// as the credits that it loosens, grows while the receiver idles only, and is nothing while more is
// unconsumed than the NIC's part of the cache. What queues in the network is not covered: the round
// trip is the path's, or the shortest there was.
type loosened struct {
	adapts bool
	rtt    units.Duration // without the program's time
	line   float64        // the program's time with a line, in units.Duration; 0 not known
	served units.Duration // a request by the peer's program; 0: it does not say
	need   Lines          // v2·RTT
	delta  Lines
}

// smoothing is the weight of a new sample (OURS).
const smoothing = 1. / 8

func newLoosened(o *options, rtt units.Duration) loosened {
	return loosened{adapts: o.adapts, rtt: rtt}
}

// peer takes in how long the program took with a request, where it says so.
func (l *loosened) peer(served units.Duration) {
	if served > 0 {
		l.served = served
	}
}

// timed takes in how long the response took to so many lines that no other request was under way
// with, from a peer that does not say how long its program took: what is beyond the shortest round
// trip.
func (l *loosened) timed(latency units.Duration, n Lines) {
	if l.served == 0 {
		l.rtt = min(l.rtt, latency)
		l.sample(latency-l.rtt, n)
	}
}

// answered takes in a response to so many lines.
func (l *loosened) answered(n Lines) {
	if l.served > 0 {
		l.sample(l.served, n)
	}
}

// samples is how many of the program's time a round trip has at most (OURS).
const samples = 4

// sample is that the program took so long with so many lines.
func (l *loosened) sample(took units.Duration, lines Lines) {
	if lines <= 0 || took <= 0 {
		return
	}
	line := float64(took) / float64(lines)
	if l.line == 0 {
		l.line = line
	}
	l.line += (line - l.line) * smoothing
	l.need = Lines(float64(l.rtt) / l.line)
}

// loosen decides δ beside so many credits.
func (l *loosened) loosen(credits Lines, state cc.CacheState) {
	most := min(l.need, credits)
	switch {
	case !l.adapts:
	case state&(cc.CacheBeyondDDIO|cc.CacheApproaching) != 0:
		l.delta = 0
	case state&cc.CacheIdle != 0:
		l.delta = most
	default:
		l.delta = min(l.delta, most)
	}
}
