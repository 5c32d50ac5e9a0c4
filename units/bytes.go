package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of data.
type Bytes int64

// The binary multiples of a byte.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// Bits answers how many bits b bytes are.
func (b Bytes) Bits() int64 { return int64(b) * 8 }

// String shows b in the largest binary unit that divides it: 64KiB, 1500B.
func (b Bytes) String() string {
	for _, u := range []struct {
		name string
		size Bytes
	}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// ParseBytes reads a number of bytes: plain or with B, binary with K, KiB, M, MiB, G, GiB,
// decimal with KB, MB, GB. A fraction is allowed where the result is
// whole; more than 8 PiB, or less than nothing, is not.
func ParseBytes(s string) (Bytes, error) {
	number, unit := split(s)
	size, ok := map[string]float64{"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
		"M":   1 << 20,
		"MIB": 1 << 20, "MB": 1e6, "G": 1 << 30, "GIB": 1 << 30, "GB": 1e9}[strings.ToUpper(unit)]
	v, err := strconv.ParseFloat(number, 64)
	scaled := v * size
	const exact = 1 << 53 // above it a float64 has no longer every whole number
	if !ok || err != nil || scaled != math.Trunc(scaled) || scaled < 0 || scaled > exact {
		return 0, fmt.Errorf(
			"units: size %q is not a whole number of bytes, such as 4096, 64K or 1MiB", s)
	}
	return Bytes(scaled), nil
}
