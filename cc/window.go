package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// clamp answers x within [low, high], and low for what is no number.
func clamp(x, low, high float64) float64 {
	switch {
	case x >= high:
		return high
	case x >= low:
		return x
	}
	return low
}

// windowed is the Decision of an algorithm that has a window and no rate: acknowledgements clock
// it. Below one packet nothing does, and a packet leaves every rtt/window.
func windowed(window Packets, path *Path, rtt units.Duration) Decision {
	bytes := float64(window) * float64(path.Payload)
	d := Decision{Window: wholeBytes(bytes)}
	if window < 1 {
		d.Rate = min(rateOf(bytes, rtt), path.LineRate)
	}
	return d
}

// wholeBytes rounds a window to what a Decision can say; never to 0, which would stop the flow.
func wholeBytes(bytes float64) units.Bytes { return max(1, units.Bytes(bytes+0.5)) }

// rateOf answers the rate that sends bytes in d, never 0, which would be no limit.
func rateOf(bytes float64, d units.Duration) units.BitRate {
	return wholeBits(8 * float64(units.Second) * bytes / float64(d))
}

func wholeBits(rate float64) units.BitRate {
	return units.BitRate(clamp(rate, 1, math.MaxInt64/2))
}
