package workload

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/goroce/goroce/units"
)

// Summary is what tables tell of many values. Percentiles are by nearest rank, so that each is one
// of the values. All is 0 when there are none.
type Summary[T ~int64 | ~float64] struct {
	Count                          int
	Mean, P50, P95, P99, P999, Max T
}

// NewSummary sums up values, in any order.
func NewSummary[T ~int64 | ~float64](values []T) Summary[T] {
	if len(values) == 0 {
		return Summary[T]{}
	}
	sorted := slices.Sorted(slices.Values(values))
	var sum float64
	for _, v := range sorted {
		sum += float64(v)
	}
	return Summary[T]{
		Count: len(sorted),
		Mean:  T(sum / float64(len(sorted))),
		P50:   Percentile(sorted, 50),
		P95:   Percentile(sorted, 95),
		P99:   Percentile(sorted, 99),
		P999:  Percentile(sorted, 99.9),
		Max:   sorted[len(sorted)-1],
	}
}

// Percentile answers the least of the sorted values that p per cent of them are not above: nearest
// rank. p counts in thousandths; without values it is 0.
func Percentile[T any](sorted []T, p float64) (v T) {
	n := len(sorted)
	if n == 0 {
		return v
	}
	// 100 % in thousandths: 99.9 % of 1000 is exactly 999, which 0.999*1000 need not be
	const whole = 100_000
	rank := (int(math.Round(p*1000))*n + whole - 1) / whole
	return sorted[min(max(rank, 1), n)-1]
}

// Row is one class of flows in a table.
type Row struct {
	Class    string
	Slowdown Summary[float64]
	FCT      Summary[units.Duration]
}

// Summarize answers a Row for every class, also where it has no flows, and one for all flows.
func Summarize(results []Result, classes []SizeClass) []Row {
	parts := make([][]Result, len(classes)+1)
	for _, r := range results {
		i := ClassOf(r.Bytes, classes)
		parts[i] = append(parts[i], r)
	}
	rows := make([]Row, 0, len(classes)+1)
	for i, c := range classes {
		rows = append(rows, newRow(c.Name, parts[i]))
	}
	return append(rows, newRow("all", results))
}

func newRow(class string, results []Result) Row {
	slowdowns := make([]float64, len(results))
	times := make([]units.Duration, len(results))
	for i, r := range results {
		slowdowns[i], times[i] = r.Slowdown(), r.FCT()
	}
	return Row{class, NewSummary(slowdowns), NewSummary(times)}
}

// WriteTable writes rows for people to read: slowdowns, then completion times in microseconds.
func WriteTable(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "class\tflows\tslowdown mean\tp50\tp95\tp99\tp99.9\tmax\tFCT us "+
		"mean\tp50\tp95\tp99\tp99.9\tmax\t")
	for _, r := range rows {
		s, f := r.Slowdown, r.FCT
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t", r.Class, s.Count,
			s.Mean, s.P50, s.P95, s.P99, s.P999, s.Max)
		fmt.Fprintf(t, "%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", f.Mean.Microseconds(),
			f.P50.Microseconds(),
			f.P95.Microseconds(), f.P99.Microseconds(), f.P999.Microseconds(), f.Max.Microseconds())
	}
	return t.Flush()
}
