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
	took   units.Duration // of the program, that is not in line yet
	lines  Lines          // and with how many
	need   Lines          // v2·RTT
	delta  Lines
}

// smoothing is the weight of a new sample (OURS).
const smoothing = 1. / 8

func newLoosened(o *options, rtt units.Duration) loosened {
	return loosened{adapts: o.adapts, least: rtt, rtt: float64(rtt)}
}

// answered takes in a response to so many lines, and whether no other request was under way. Where the peer says how
// long it had it, round trip and service are known; else the round trip is taken for the shortest.
func (l *loosened) answered(a *cc.Answer, n Lines, alone bool) {
	if !l.adapts {
		return
	}
	rtt, served := a.Latency-a.Waited-a.Served, a.Served
	if served == 0 {
		if a.Latency > 0 && a.Latency < l.least {
			l.least = a.Latency
		}
		if rtt, served = l.least, a.Latency-l.least; !alone {
			return
		}
	}
	if rtt <= 0 || served <= 0 {
		return
	}
	l.rtt += (float64(rtt) - l.rtt) * smoothing
	l.took, l.lines = served, n
	l.sample()
}

// sampled is the least part of a round trip of the program's time that makes a sample (OURS).
const sampled = 1. / 4

// consumed is that the program took so long with so many lines.
func (l *loosened) consumed(took units.Duration, n Lines) {
	l.took += took
	l.lines += n
	if l.took >= units.Duration(l.rtt*sampled) {
		l.sample()
	}
}

// sample is what the program did since the one before.
func (l *loosened) sample() {
	took, lines := l.took, l.lines
	l.took, l.lines = 0, 0
	if lines == 0 {
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
