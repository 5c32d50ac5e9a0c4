package bytetuning

import (
	"math"

	"github.com/goroce/goroce/units"
)

// FillTime returns the time in which n senders at rate fill a buffer that drains at drain. It is
// equation 1 with a drain; the paper has none, which drain 0 reproduces.
func FillTime(buffer units.Bytes, n int, rate, drain units.BitRate) units.Duration {
	return (units.BitRate(n)*rate - drain).Duration(buffer)
}

// DCTCPThreshold returns equation 2, the lower bound of the marking threshold (Alizadeh et al.,
// SIGCOMM 2010).
func DCTCPThreshold(rate units.BitRate, rtt units.Duration) units.Bytes {
	return rate.Bytes(rtt) / 7
}

// ECNStarThreshold returns equation 3 in bytes: the bandwidth-delay product (Wu et al., CoNEXT
// 2012).
func ECNStarThreshold(rate units.BitRate, rtt units.Duration) units.Bytes { return rate.Bytes(rtt) }

// MQECNThreshold returns equation 4: the threshold of one of several queues that a round of the
// scheduler serves with a quantum each (Bai et al., NSDI 2016). A round of 0 means that no other
// queue is active.
func MQECNThreshold(quantum units.Bytes, round units.Duration, rate units.BitRate,
	rtt units.Duration, lambda float64) units.Bytes {
	if round > 0 {
		rate = min(rate, units.RateOf(quantum, round))
	}
	return units.Bytes(math.Round(float64(rate.Bytes(rtt)) * lambda))
}

// Headroom returns equation 5 as an amount of data: what arrives after the queue crosses XOFF. A
// frame of mtu may have just started on either side, and the peer still sends response bytes after
// it receives the pause. Switches need more, for whole cells and preambles; see fabric.Headroom.
func Headroom(rate units.BitRate, link units.Duration, mtu, response units.Bytes) units.Bytes {
	return rate.Bytes(2*link) + 2*mtu + response
}

// PPFCDuration returns P-PFC's pause (Tian et al., HPCC 2020; table 3): the time in which all ports
// fill the buffer. The table prints B P/V, which would be 28.8 ms; B/(P V) gives the table's value
// of 112.5 µs.
func PPFCDuration(buffer units.Bytes, ports int, rate units.BitRate) units.Duration {
	return (units.BitRate(ports) * rate).Duration(buffer)
}

// InferredThroughput returns equation 16: the throughput inferred from reports per second, where a
// fraction sampling of the packets is reported and packet is their mean size.
func InferredThroughput(reports float64, packet units.Bytes, sampling float64) units.BitRate {
	return units.BitRate(reports * float64(packet.Bits()) / sampling)
}

// InferredLatency returns the latency that section 5.4 infers from a queue length: the line through
// the averages of an idle pod (2.61 µs at 0 cells) and a heavily loaded one (21.33 µs at 4667).
// The lightly loaded pod (16.37 µs at 3516) is 0.3 µs off this line.
func InferredLatency(queue units.Bytes) units.Duration {
	const idle, heavy, cells = 2.61, 21.33, 4667
	us := idle + (heavy-idle)/cells*float64(queue)/float64(Cell)
	return units.Duration(us * float64(units.Microsecond))
}
