package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// settling corrects what a receiver counts as used. Arrivals do not show it exactly: a packet that
// was reported missing may only have been overtaken, its retransmission on a second token is a
// duplicate, and nobody sees the original of a packet that was lost at the end of a burst. Without
// a correction such tokens fill the window, and the flow slows down to a packet a round trip. So a
// sender sends an RTS after retransmissions. A response time later the packets before it have
// arrived or are lost: used is at least what the sender had used by then and what was first sent
// afterwards, and at most the former and all that was seen since. OURS.
type settling struct {
	used  units.Bytes // by the packets sent before the RTS
	after units.Bytes // arrived, first sent after the RTS
	seen  units.Bytes // arrived or missing since the RTS
	at    units.Time  // when the packets sent before the RTS have arrived; 0: no RTS is pending
}

// begin starts with an RTS, unless an older one is pending.
func (s *settling) begin(used units.Bytes, at units.Time) {
	if s.at == 0 {
		*s = settling{used: used, at: nonZero(at)}
	}
}

func (s *settling) onArrival(a *cc.Arrival) {
	s.seen += a.Bytes
	if a.AfterRTS && !a.Again && a.Set&cc.MarkUnscheduled == 0 {
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
