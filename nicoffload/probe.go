package nicoffload

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// prober keeps the state of one flow's probes (TAURUS section 3.3): when a probe is attached to
// data, and the newest response.
type prober struct {
	packets uint16         // attach a probe to every n-th packet
	every   units.Duration // or to the first packet after each interval
	sent    uint16         // packets since the last probe
	since   units.Time     // when it left

	seq         uint8 // of the next probe
	newest      uint8 // sequence number of a response
	newestKnown bool  // newest is valid
	unanswered  int
}

// maxUnanswered is the number of unanswered probes after which the newest response is forgotten.
// Sequence numbers are compared modulo 256, so fewer than 128 may lie between two responses.
const maxUnanswered = 100

// maxProbeRTT is longer than any round trip.
const maxProbeRTT = units.Second

// attach reports whether the data packet that leaves now is to carry a probe.
func (p *prober) attach(now units.Time) bool {
	switch {
	case p.packets > 0:
		if p.sent++; p.sent < p.packets {
			return false
		}
	case p.every > 0:
		if now.Sub(p.since) < p.every {
			return false
		}
	default:
		return false
	}
	p.sent, p.since = 0, now
	return true
}

// send writes the field of a probe that leaves with data.
func (p *prober) send(field extension.ProbeField, now units.Time) {
	field.Set(extension.ProbeMode(1), p.seq, now)
	p.seq++
	if p.unanswered++; p.unanswered >= maxUnanswered {
		p.newestKnown = false
	}
}

// onResponse returns the round-trip time measured by a response. It returns false for a response
// that is older than the newest, or implausible.
func (p *prober) onResponse(field extension.ProbeField, now units.Time) (units.Duration, bool) {
	if len(field) < extension.ProbeLen || field.Mode() != extension.ProbeResponse {
		return 0, false
	}
	if p.newestKnown && int8(field.Seq()-p.newest) <= 0 { // reordered
		return 0, false
	}
	rtt := units.Duration(
		(uint64(now.Sub(0)/units.Nanosecond)-uint64(field.Left()/units.Nanosecond))&(1<<48-1)) *
		units.Nanosecond
	if rtt <= 0 || rtt > maxProbeRTT {
		return 0, false
	}
	p.newest, p.newestKnown, p.unanswered = field.Seq(), true, 0
	return rtt, true
}
