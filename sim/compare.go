package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Compare runs a scenario under each of several schemes, with the same flows.
func Compare(ctx context.Context, s Scenario, schemes ...Scheme) ([]*Result, error) {
	var results []*Result
	for _, scheme := range schemes {
		s.Scheme = scheme
		r, err := s.Run(ctx)
		if err != nil {
			return nil, fmt.Errorf("sim: %s: %w", scheme.title(), err)
		}
		results = append(results, r)
	}
	return results, nil
}

// SmallFlow is the size below which WriteTable counts a flow as small.
const SmallFlow = units.Bytes(100_000)

// WriteTable writes one line per result: slowdowns of small and of all flows, the largest occupancy
// of a switch, marks, drops and pauses.
func WriteTable(w io.Writer, results ...*Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t,
		"scheme\tflows\tmean slowdown\tp99\tsmall flows, p99\tbuffer\tmarked\tdropped\tpauses\t")
	for _, r := range results {
		all, small := r.Slowdowns(0), r.Slowdowns(SmallFlow)
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%v\t%d\t%d\t%d\t\n", r.Scheme, len(r.Flows),
			Mean(all), workload.Percentile(all, 99), workload.Percentile(small, 99),
			r.Totals.Fullest, r.Totals.Marked, r.Totals.Dropped, r.Totals.PausesSent)
	}
	return t.Flush()
}

// Slowdowns returns the slowdowns of flows below a size, in ascending order; size 0 means all
// flows.
func (r *Result) Slowdowns(below units.Bytes) (v []float64) {
	for _, f := range r.Flows {
		if below == 0 || f.Bytes < below {
			v = append(v, f.Slowdown())
		}
	}
	slices.Sort(v)
	return v
}

// BySize returns a percentile of slowdown for each class of flows by size; class i has flows up to
// bounds[i]. Classes without flows are left out, also of x.
func (r *Result) BySize(percentile float64, bounds ...units.Bytes) (x, y []float64) {
	classes := make([][]float64, len(bounds))
	for _, f := range r.Flows {
		if i, _ := slices.BinarySearch(bounds, f.Bytes); i < len(bounds) {
			classes[i] = append(classes[i], f.Slowdown())
		}
	}
	for i, c := range classes {
		if len(c) > 0 {
			slices.Sort(c)
			x, y = append(x, float64(bounds[i])), append(y, workload.Percentile(c, percentile))
		}
	}
	return x, y
}

// Mean returns the arithmetic mean; 0 of no values.
func Mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(1, len(v)))
}
