package carc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// loosened is the δ of formula (2) that covers the round trip, for who knows how fast the receiver's program is with this
// connection: the receiver itself, or, where responses return credits, their sender. It is what the program consumes
// in a round trip, v2·RTT, at most as much as the credits that it loosens, grows while the receiver idles only, and
// is nothing while more is unconsumed than the NIC's part of the cache.
type loosened struct {
	adapts bool
	least  units.Duration // round trip without the program's time, where the peer does not say that
	rtt    float64        // in units.Duration
	line   float64        // the program's time with a line, in units.Duration; 0 not known
	waited units.Duration // a request at the peer
	served units.Duration // 0: it does not say
	need   Lines          // v2·RTT
	delta  Lines
}

// smoothing is the weight of a new sample (OURS).
const smoothing = 1. / 8

func newLoosened(o *options, rtt units.Duration) loosened {
	return loosened{adapts: o.adapts, least: rtt, rtt: float64(rtt)}
}

// peer takes in how long a request was at the peer, where it says so.
func (l *loosened) peer(waited, served units.Duration) {
	if served > 0 {
		l.waited, l.served = waited, served
	}
}

// answered takes in how long the response took to so many lines, and whether no other request was under way. Where the
// peer says how long it had a request, round trip and service are known; else the round trip is taken for the shortest.
func (l *loosened) answered(latency units.Duration, n Lines, alone bool) {
	if !l.adapts {
		return
	}
	rtt, served := latency-l.waited-l.served, l.served
	if served == 0 {
		l.least = min(l.least, latency)
		if rtt, served = l.least, latency-l.least; !alone {
			return
		}
	}
	if rtt <= 0 || served <= 0 {
		return
	}
	l.rtt += (float64(rtt) - l.rtt) * smoothing
	l.sample(served, n)
}

// sampled is the least part of a round trip of the program's time that makes a sample (OURS).
const sampled = 1. / 4

// enough says whether so much of the program's time makes a sample.
func (l *loosened) enough(took units.Duration) bool {
	return l.adapts && took >= units.Duration(l.rtt*sampled)
}

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
	l.need = Lines(l.rtt / l.line)
}

// loosen decides δ beside so many credits.
func (l *loosened) loosen(credits Lines, state cc.CacheState) {
	most := min(l.need, credits)
	switch {
	case state&(cc.CacheBeyondDDIO|cc.CacheApproaching) != 0:
		l.delta = 0
	case state&cc.CacheIdle != 0:
		l.delta = most
	default:
		l.delta = min(l.delta, most)
	}
}
