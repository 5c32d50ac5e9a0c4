package workload

import (
	"math"

	"github.com/goroce/goroce/units"
)

// SizeClass is the flows of a size Below a bound that are in none of the classes before it.
type SizeClass struct {
	Name  string
	Below units.Bytes
}

const (
	kilobyte units.Bytes = 1e3
	megabyte units.Bytes = 1e6
	noBound  units.Bytes = math.MaxInt64
)

// ToCCClasses is how ToCC's figures part flows.
func ToCCClasses() []SizeClass {
	return []SizeClass{
		{"tiny", 10 * kilobyte},
		{"small", 100 * kilobyte},
		{"medium", megabyte + 1},
		{"large", noBound},
	}
}

// PrioPlusClasses is how PrioPlus's figures part flows, whose names are the paper's; it gives no
// bounds, so they are ours. bdp is the bandwidth-delay product of a pair, base round trip times
// link rate: a flow of no more can be done in a round trip. Where it is 100 kB or more there are no
// small flows.
func PrioPlusClasses(bdp units.Bytes) []SizeClass {
	return []SizeClass{
		{"sub-RTT", bdp + 1},
		{"small", 100 * kilobyte},
		{"middle", megabyte + 1},
		{"large", noBound},
	}
}

// ClassOf answers which of the classes a flow of this size is in, len(classes) when in none.
func ClassOf(size units.Bytes, classes []SizeClass) int {
	for i, c := range classes {
		if size < c.Below {
			return i
		}
	}
	return len(classes)
}
