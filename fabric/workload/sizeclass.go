package workload

import (
	"math"

	"github.com/goroce/goroce/units"
)

// SizeClass is the class of the flows smaller than Below that are not in a preceding class.
type SizeClass struct {
	Name  string
	Below units.Bytes
}

const (
	kilobyte units.Bytes = 1e3
	megabyte units.Bytes = 1e6
	noBound  units.Bytes = math.MaxInt64
)

// ToCCClasses returns the size classes of ToCC's figures.
func ToCCClasses() []SizeClass {
	return []SizeClass{
		{"tiny", 10 * kilobyte},
		{"small", 100 * kilobyte},
		{"medium", megabyte + 1},
		{"large", noBound},
	}
}

// PrioPlusClasses returns the size classes of PrioPlus's figures. The names are the paper's; it
// states no bounds, so these are ours. bdp is the bandwidth-delay product of a pair, its base
// round-trip time times the link rate: flows of at most bdp can complete in one round trip. If bdp
// is 100 kB or more, the class "small" is empty.
func PrioPlusClasses(bdp units.Bytes) []SizeClass {
	return []SizeClass{
		{"sub-RTT", bdp + 1},
		{"small", 100 * kilobyte},
		{"middle", megabyte + 1},
		{"large", noBound},
	}
}

// ClassOf returns the index of the class of a size, or len(classes) if it is in none.
func ClassOf(size units.Bytes, classes []SizeClass) int {
	for i, c := range classes {
		if size < c.Below {
			return i
		}
	}
	return len(classes)
}
