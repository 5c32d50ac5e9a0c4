package units

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// BitRate is a speed in bits per second.
type BitRate int64

// The decimal multiples of a bit per second.
const (
	BitPerSecond BitRate = 1
	Kbps                 = 1000 * BitPerSecond
	Mbps                 = 1000 * Kbps
	Gbps                 = 1000 * Mbps
)

// Duration answers how long b bytes take at rate r, rounded up to a picosecond: a link never sends
// earlier than it can. A rate of 0 or less answers Forever.
func (r BitRate) Duration(b Bytes) Duration {
	if r <= 0 {
		return Forever
	}
	if b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(b), 8*uint64(Second))
	if hi >= uint64(r) {
		return Forever
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem > 0 {
		q++
	}
	return Duration(min(q, uint64(Forever)))
}

// Bytes answers how many whole bytes rate r carries in d.
func (r BitRate) Bytes(d Duration) Bytes {
	if r <= 0 || d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(r), uint64(d))
	const perByte = 8 * uint64(Second)
	if hi >= perByte {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, perByte)
	return Bytes(min(q, math.MaxInt64))
}

// RateOf answers the rate that carries b bytes in d; 0 when d is not positive. What no BitRate
// holds saturates.
func RateOf(b Bytes, d Duration) BitRate {
	if d <= 0 {
		return 0
	}
	return BitRate(min(8*float64(b)/d.Seconds(), math.MaxInt64/2))
}

// String shows r in the largest decimal unit of which it has at least one: 100Gb/s, 2.5Gb/s.
func (r BitRate) String() string {
	for _, u := range []struct {
		name string
		size BitRate
	}{{"Gb/s", Gbps}, {"Mb/s", Mbps}, {"kb/s", Kbps}} {
		if r >= u.size || -r >= u.size {
			return trimmed(float64(r)/float64(u.size)) + u.name
		}
	}
	return strconv.FormatInt(int64(r), 10) + "b/s"
}

// ParseBitRate reads a number of bits per second with k, M, G or T, each optionally followed by
// b/s, bps or bit: 100G, 40Gb/s, 2.5Gbps.
func ParseBitRate(s string) (BitRate, error) {
	number, unit := split(s)
	unit = strings.ToLower(unit)
	for _, tail := range []string{"b/s", "bps", "bit/s", "bit", "b"} {
		if cut, ok := strings.CutSuffix(unit, tail); ok {
			unit = cut
			break
		}
	}
	size, ok := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}[unit]
	v, err := strconv.ParseFloat(number, 64)
	scaled := math.Round(v * size)
	if !ok || err != nil || math.IsNaN(scaled) || scaled < 0 || scaled >= math.MaxInt64 {
		return 0, fmt.Errorf(
			"units: rate %q is not a number of bits per second, such as 100G or 25Gb/s", s)
	}
	return BitRate(scaled), nil
}
