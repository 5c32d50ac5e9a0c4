package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// clamp returns x limited to [low, high], and low for NaN.
func clamp(x, low, high float64) float64 {
	switch {
	case x >= high:
		return high
	case x >= low:
		return x
	}
	return low
}

// windowed returns the Decision of an algorithm that has a window and no rate, clocked by
// acknowledgements. Below one packet it sets a rate: a packet leaves every rtt/window.
func windowed(window Packets, path *Path, rtt units.Duration) Decision {
	bytes := float64(window) * float64(path.Payload)
	d := Decision{Window: wholeBytes(bytes)}
	if window < 1 {
		floor := min(minPacedFraction*float64(path.LineRate), float64(rateOf(bytes, path.BaseRTT)))
		d.Rate = units.BitRate(clamp(float64(rateOf(bytes, rtt)), floor, float64(path.LineRate)))
	}
	return d
}

// minPacedFraction is the fraction of the line rate below which a long round trip does not slow
// down a flow that its window paces: otherwise the next sample would arrive too late to detect that
// round trips are shorter again. It is the least rate of DCQCN on NICs, 1 Mb/s, at 100 Gb/s. OURS.
const minPacedFraction = 1e-5

// inUse reports whether a window of so many packets limits the flow, rather than its program or its
// port: the amount in flight before the acknowledgement was close to it. An unused window that
// grows allows a later burst (RFC 7661, section 1). An event without InFlight counts as in use.
func inUse(ev *Event, cwnd float64, path *Path) bool {
	if ev.InFlight <= 0 {
		return true
	}
	return float64(ev.InFlight+ev.Bytes+path.Payload) >= cwnd*float64(path.Payload)
}

// wholeBytes rounds a window to the bytes of a Decision; never to 0, which would stop the flow.
func wholeBytes(bytes float64) units.Bytes { return max(1, units.Bytes(bytes+0.5)) }

// rateOf returns the rate that sends bytes in d, never 0, which would be no limit.
func rateOf(bytes float64, d units.Duration) units.BitRate {
	return wholeBits(8 * float64(units.Second) * bytes / float64(d))
}

func wholeBits(rate float64) units.BitRate {
	return units.BitRate(clamp(rate, 1, math.MaxInt64/2))
}

// unpaced is the rate from which on a flow is not paced; 0: it always is. A guessed line rate must
// not become a limit.
type unpaced float64

func (p Path) unpaced() unpaced {
	if p.Guessed {
		return unpaced(p.LineRate)
	}
	return 0
}

// pace returns the Decision's Rate for a rate.
func (u unpaced) pace(rate float64) units.BitRate {
	if u > 0 && rate >= float64(u) {
		return 0
	}
	return wholeBits(rate)
}
