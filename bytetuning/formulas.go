package bytetuning

import (
	"math"

	"github.com/goroce/goroce/units"
)

// FillTime is equation 1 with its drain: how long n senders at rate take to fill a buffer that a
// link of drain empties. The paper leaves the drain out; 0 does.
func FillTime(buffer units.Bytes, n int, rate, drain units.BitRate) units.Duration {
	return (units.BitRate(n)*rate - drain).Duration(buffer)
}

// DCTCPThreshold is equation 2: the marking threshold is more than this (Alizadeh et al., SIGCOMM
// 2010).
func DCTCPThreshold(rate units.BitRate, rtt units.Duration) units.Bytes {
	return rate.Bytes(rtt) / 7
}

// ECNStarThreshold is equation 3, in bytes: the bandwidth-delay product (Wu et al., CoNEXT 2012).
func ECNStarThreshold(rate units.BitRate, rtt units.Duration) units.Bytes { return rate.Bytes(rtt) }

// MQECNThreshold is equation 4: that of one of several queues, which a round of the scheduler
// serves a quantum each (Bai et al., NSDI 2016). A round of 0 has no other queue in it.
func MQECNThreshold(quantum units.Bytes, round units.Duration, rate units.BitRate,
	rtt units.Duration, lambda float64) units.Bytes {
	if round > 0 {
		rate = min(rate, units.RateOf(quantum, round))
	}
	return units.Bytes(math.Round(float64(rate.Bytes(rtt)) * lambda))
}

// Headroom is equation 5 as an amount of data: what comes in after the queue crossed XOFF. A frame
// of mtu may have just begun on either side, and the peer responds to a pause after response.
// Switches need some more, for whole cells and preambles; see fabric.Headroom.
func Headroom(rate units.BitRate, link units.Duration, mtu, response units.Bytes) units.Bytes {
	return rate.Bytes(2*link) + 2*mtu + response
}

// PPFCDuration is P-PFC's pause (Tian et al., HPCC 2020; table 3): the time in which all ports fill
// the buffer. The table prints B P/V, which would be 28.8 ms; B/(P V) is the 112.5 µs that it
// gives.
func PPFCDuration(buffer units.Bytes, ports int, rate units.BitRate) units.Duration {
	return (units.BitRate(ports) * rate).Duration(buffer)
}

// InferredThroughput is equation 16: what reports per second say, of packets of this mean size of
// which a part, sampling, is reported.
func InferredThroughput(reports float64, packet units.Bytes, sampling float64) units.BitRate {
	return units.BitRate(reports * float64(packet.Bits()) / sampling)
}

// InferredLatency is section 5.4's: a line through the averages of an idle and of a heavily loaded
// pod, 2.61 µs at 0 cells and 21.33 µs at 4667. That of a light load, 16.37 µs at 3516, is 0.3 µs
// beside it.
func InferredLatency(queue units.Bytes) units.Duration {
	const idle, heavy, cells = 2.61, 21.33, 4667
	us := idle + (heavy-idle)/cells*float64(queue)/float64(Cell)
	return units.Duration(us * float64(units.Microsecond))
}
