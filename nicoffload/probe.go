package nicoffload

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// prober keeps the books on one flow's probes (TAURUS section 3.3): when one is attached to data,
// and which response is older than one that was heard.
type prober struct {
	packets uint16         // attach to each so manieth packet
	every   units.Duration // or to the first packet after so long
	sent    uint16         // packets since the last probe
	since   units.Time     // when it left

	seq        uint8 // of the next probe
	newest     uint8 // response that was heard
	heardOne   bool
	unanswered int
}

// forget is after how many unanswered probes the newest response is forgotten: sequence numbers are
// compared modulo 256, so fewer than 128 may lie between two responses.
const forget = 100

// longestProbe is more than any round trip.
const longestProbe = units.Second

// attach says whether the data packet that leaves now shall carry a probe.
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

// send writes the field of a probe that leaves now, beside data.
func (p *prober) send(field wire.ProbeField, now units.Time) {
	field.Set(wire.ProbeMode(1), p.seq, now)
	p.seq++
	if p.unanswered++; p.unanswered >= forget {
		p.heardOne = false
	}
}

// heard answers the round trip that a response tells, and false for one that was overtaken by a
// newer one, or that cannot be.
func (p *prober) heard(field wire.ProbeField, now units.Time) (units.Duration, bool) {
	if len(field) < wire.ProbeLen || field.Mode() != wire.ProbeResponse {
		return 0, false
	}
	if p.heardOne && int8(field.Seq()-p.newest) <= 0 { // time reversal
		return 0, false
	}
	rtt := units.Duration(
		(uint64(now.Sub(0)/units.Nanosecond)-uint64(field.Left()/units.Nanosecond))&(1<<48-1)) *
		units.Nanosecond
	if rtt <= 0 || rtt > longestProbe {
		return 0, false
	}
	p.newest, p.heardOne, p.unanswered = field.Seq(), true, 0
	return rtt, true
}
