package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// settling corrects what a receiver counts as used. Arrivals do not show it exactly: a packet that
// was reported missing may only have been overtaken, its retransmission on a second token is a
// duplicate, and nobody sees the original of a packet that was lost at the end of a burst. Without
// a correction such tokens fill the window, and the flow slows down to a packet a round trip. So a
// sender sends an RTS with FlagAgain after retransmissions. The packets before it have arrived or
// are lost when none of them has arrived for a response time (the RTS overtakes them where it has a
// queue of its own): used is at least what the sender had used by then and what was first sent
// afterwards, and at most the former and all that was seen since. OURS.
type settling struct {
	used  units.Bytes    // by the packets sent before the RTS
	after units.Bytes    // arrived, first sent after the RTS
	seen  units.Bytes    // arrived or missing since the RTS
	wait  units.Duration // a response time
	at    units.Time     // when the packets sent before the RTS have arrived; 0: no RTS is pending
}

// begin starts with an RTS with FlagAgain, unless an older one is pending.
func (s *settling) begin(used units.Bytes, wait units.Duration, now units.Time) {
	if s.at == 0 {
		*s = settling{used: used, wait: wait, at: nonZero(now.Add(wait))}
	}
}

func (s *settling) onArrival(a *cc.Arrival, now units.Time) {
	s.seen += a.Bytes
	switch {
	case !a.AfterRTS:
		if now.Before(s.at) {
			s.at = nonZero(now.Add(s.wait))
		}
	case !a.Again && a.Set&cc.MarkUnscheduled == 0:
		s.after += a.Bytes
	}
}

// onMissing counts lost data, too: its tokens are no longer used.
func (s *settling) onMissing(bytes units.Bytes) { s.seen += bytes }

// end returns the corrected value of used. ok is false before it is time.
func (s *settling) end(used units.Bytes, now units.Time) (corrected units.Bytes, ok bool) {
	if s.at == 0 || now.Before(s.at) {
		return used, false
	}
	s.at = 0
	return min(max(used, s.used+s.after), s.used+s.seen), true
}
