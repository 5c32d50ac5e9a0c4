package tocc

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// leafSpine are comparisons with reactive schemes in leaf-spine networks.
var leafSpine = []*experiment.Experiment{fig8ab, fig8cf, fig8de, headline, fig9a, fig9bc, fig11}

// setting is a network and its traffic, in which schemes are compared.
type setting struct {
	Network network
	Traffic traffic
}

// cells returns the cells of schemes in the setting.
func (s setting) cells(of ...scheme) []experiment.Cell { return cells(s.Network, s.Traffic, of...) }

// row returns the results of a scheme in the setting.
func (s setting) row(r *experiment.Results, of scheme) row {
	return rowOf(r, run{of, s.Network, s.Traffic})
}

// least returns the least value of a quantity over schemes.
func (s setting) least(r *experiment.Results, quantity func(row) float64, of ...scheme) float64 {
	least := math.Inf(1)
	for _, x := range of {
		least = min(least, quantity(s.row(r, x)))
	}
	return least
}

// meanFCT and p99FCT are of flows of classes; without classes, of all but incasts'.
func meanFCT(classes ...string) func(row) float64 {
	return func(x row) float64 { return mean(x.fct(classes...)) }
}

func p99FCT(classes ...string) func(row) float64 {
	return func(x row) float64 { return p99(x.fct(classes...)) }
}

// each returns a map with a number for each of some schemes, by their names in claims.
func each(of []scheme, number func(scheme) float64) (v claims.Value) {
	for _, x := range of {
		v = v.With(claimNames[x], claims.Number(number(x)))
	}
	return v
}

var claimNames = map[scheme]string{dcqcn: "dcqcn", timely: "timely", hpcc: "hpcc"}

// bars draws a quantity of the classes of flows, a bar for each scheme, in µs.
func (s setting) bars(r *experiment.Results, name, title string, of []scheme,
	quantity func(...string) func(row) float64) *figure.Plot {
	var groups []string
	for _, class := range append(bySize[:4:4], "incast") {
		if len(s.row(r, of[0]).fct(class)) > 0 {
			groups = append(groups, class)
		}
	}
	seeds := "one seed"
	if n := len(r.Seeds()); n > 1 {
		seeds = fmt.Sprintf("%d seeds", n)
	}
	plot := figure.Bars(name, fmt.Sprintf("%s; about %d flows, %s", title, s.Traffic.Flows, seeds),
		"time (µs)", groups...)
	plot.Y.Log = true
	for _, x := range of {
		var m experiment.Measures
		for _, class := range groups {
			m.Add(s.row(r, x).Pool, func(p experiment.Pool) float64 {
				return 1e6 * quantity(class)(row{p})
			})
		}
		m.Bars(plot, string(x))
	}
	return plot
}

// table has a row for each scheme: completion times, and what switches held and lost.
func table(r *experiment.Results, name, title string, of []scheme,
	settings ...setting) *figure.Table {
	t := &figure.Table{Name: name, Title: title, Header: []string{
		"scheme", "network", "traffic", "flows", "mean FCT (µs)", "p99 FCT (µs)", "mean slowdown",
		"p99 slowdown", "incast FCT (µs)", "buffer (KB)", "lost", "paused",
	}}
	for _, s := range settings {
		for _, x := range of {
			row := s.row(r, x)
			t.Row(x, fmt.Sprintf("%s at %v", s.Network.Name, s.Network.Host.Rate), s.Traffic,
				len(row.fct()), digits(1e6*mean(row.fct())), digits(1e6*p99(row.fct())),
				digits(mean(row.slowdown())),
				digits(p99(row.slowdown())), digits(1e6*mean(row.fct("incast"))),
				digits(row.bufmax()/1000), row.Values("lost").Sum(),
				digits(row.Values("paused").Mean()))
		}
	}
	return t
}

// digits returns a number rounded to four digits.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// digitsText returns digits as text.
func digitsText(x float64) string { return fmt.Sprint(digits(x)) }
