package taurus

import (
	"strconv"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// A series is contests of one framework under one congestion, one for each message size.
type series struct {
	Framework framework
	Left      float64
	Timed     units.Bytes // of the timed messages; 0: as all others
}

// contests returns the contests of sizes.
func (s series) contests(sizes []units.Bytes) (all []contest) {
	for _, bytes := range sizes {
		c := contest{s.Framework, s.Left, bytes, s.Timed}
		if c.Timed == 0 {
			c.Timed = bytes
		}
		all = append(all, c)
	}
	return all
}

// under returns frameworks under congestion of the fabric, 0, and of hosts.
func under(timed units.Bytes, left []float64, of ...framework) (all []series) {
	for _, l := range left {
		for _, f := range of {
			all = append(all, series{f, l, timed})
		}
	}
	return all
}

// contested returns the cells of an experiment.
func contested(sizes []units.Bytes, of ...series) (cells []experiment.Cell) {
	for _, s := range of {
		for _, c := range s.contests(sizes) {
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
	}
	return cells
}

// kib returns a list of sizes.
const kib = units.KiB

// sizesAt returns the sizes of figures 2, 12, 13 and 14: 4 KB to 1 MB.
func sizesAt(s experiment.Scale) []units.Bytes {
	return experiment.At(s, []units.Bytes{4 * kib, 16 * kib, 64 * kib, 256 * kib, units.MiB},
		[]units.Bytes{64 * kib})
}

// means returns the means of a value, by size.
func (s series) means(r *experiment.Results, sizes []units.Bytes,
	value string) (means experiment.Values) {
	for _, c := range s.contests(sizes) {
		means = append(means, r.Cell(c.name()).Values(value).Mean())
	}
	return means
}

// bySize returns a map with a number for each size.
func bySize(sizes []units.Bytes, number func(i int) float64) (v claims.Value) {
	for i, bytes := range sizes {
		v = v.With(bytes.String(), claims.Number(number(i)))
	}
	return v
}

// bars draws a value of series by size, multiplied by k.
func bars(r *experiment.Results, name, title, axis, value string, k float64, sizes []units.Bytes,
	of ...series) *figure.Plot {
	var groups []string
	for _, bytes := range sizes {
		groups = append(groups, bytes.String())
	}
	plot := figure.Bars(name, title, axis, groups...)
	for _, s := range of {
		plot.Heights(string(s.Framework)+", "+congestion(s.Left),
			s.means(r, sizes, value).Scaled(k)...)
	}
	return plot
}

// table has a row for each contest.
func table(r *experiment.Results, sizes []units.Bytes, of ...series) *figure.Table {
	t := &figure.Table{Name: "contests", Title: "Eight hosts send to one", Header: []string{
		"framework", "congestion", "message", "goodput (Gb/s)", "mean latency (µs)",
		"p99 latency (µs)", "mean queue (KB)", "pauses of the host", "reports", "reports dropped",
	}}
	round := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	for _, s := range of {
		for _, c := range s.contests(sizes) {
			v := r.Cell(c.name())
			t.Row(s.Framework, congestion(s.Left), c.Bytes, round(v.Values("goodput").Mean()/1e9),
				round(1e6*v.Values("latency").Mean()),
				round(1e6*v.Values("latency").Percentile(99)),
				round(v.Values("queue").Mean()/1e3), round(v.Values("pauses").Mean()),
				round(v.Values("reports").Mean()), round(v.Values("dropped").Mean()))
		}
	}
	return t
}
