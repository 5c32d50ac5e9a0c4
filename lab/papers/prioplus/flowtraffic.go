package prioplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// A traffic is how flow scheduling loads its network, and which sizes share a priority.
type traffic string

const (
	// WebSearch, in groups of equal total bytes: the paper does not give its division.
	groupsOfBytes traffic = ""
	// The artifact's: groups of equal widths of sizes, each with a load in proportion to its flows.
	// Most flows are small, so that most bytes are those of small flows: it is not WebSearch.
	loadByFlows traffic = "load by flows"
	// WebSearch, in the same groups.
	trueSearch traffic = "true WebSearch"
)

// source returns the traffic of a run with n priorities, and the priority of a flow.
func (t traffic) source(j *experiment.Job, f fatTree, n int) (workload.Source,
	func(workload.Flow) int, error) {
	all := workload.Poisson{Hosts: f.hosts(), Rate: f.capacity(), Load: 0.7,
		Sizes: workload.WebSearch, Seed: j.Seed, Until: units.Time(f.span)}
	bounds := equalWidths(workload.WebSearch, n)
	if t == groupsOfBytes {
		bounds = equalBytes(workload.WebSearch, n)
	}
	if t != loadByFlows {
		source, err := all.Source()
		return source, func(f workload.Flow) int { return n - 1 - sizeGroup(f.Bytes, bounds) }, err
	}
	sources := make([]workload.Source, n)
	below := 0.0
	for group := range sources {
		upTo := 1.0
		if group < n-1 {
			upTo = workload.WebSearch.CDF(bounds[group])
		}
		part := all
		part.Load, part.Class = all.Load*(upTo-below), n-1-group
		part.Seed = j.Seed<<8 | uint64(group)
		var err error
		if part.Sizes, err = between(workload.WebSearch, below, upTo); err != nil {
			return nil, nil, err
		}
		if sources[group], err = part.Source(); err != nil {
			return nil, nil, err
		}
		below = upTo
	}
	return workload.Merge(sources...), func(f workload.Flow) int { return f.Class }, nil
}

// equalWidths returns the largest size of each of n groups but the last.
func equalWidths(sizes *workload.Sizes, n int) (bounds []units.Bytes) {
	for i := 1; i < n; i++ {
		bounds = append(bounds, sizes.Quantile(1)/units.Bytes(n)*units.Bytes(i))
	}
	return bounds
}

// between returns the part of a distribution between two quantiles.
func between(sizes *workload.Sizes, from, to float64) (*workload.Sizes, error) {
	const steps = 500
	var table strings.Builder
	for i := range steps + 1 {
		p := float64(i) / steps
		fmt.Fprintf(&table, "%d %g\n", sizes.Quantile(from+(to-from)*p), p)
	}
	return workload.ParseSizes(strings.NewReader(table.String()), workload.Linear)
}

// class returns the paper's name for flows of this size. It gives no bounds; the artifact's are
// those of its own traffic.
func (t traffic) class(size units.Bytes) string {
	small, middle := units.Bytes(300_000), units.Bytes(6_000_000)
	if t == groupsOfBytes {
		small, middle = 99_999, 1_000_000
	}
	switch {
	case size <= small:
		return "small"
	case size <= middle:
		return "middle"
	}
	return "large"
}

// classes returns the table of the artifact's experiments with many priorities: an eighth of them
// has no limit where the scheme says so, a quarter has a W_LS of a BDP, and three eighths an eighth
// of one. It rounds the bounds of the artifact's text, and the channels' own table rounds down.
func (t traffic) classes(n int) string {
	if t == groupsOfBytes {
		return ",high=0.25,low=0.375,direct=0.125"
	}
	rounded := func(fraction float64) float64 { return math.Floor(fraction*float64(n) + 0.5) }
	high, low := max(1, rounded(0.25)), float64(n)-rounded(0.625)
	return fmt.Sprintf(",high=%v,low=%v,direct=0.125", high/float64(n), low/float64(n))
}
