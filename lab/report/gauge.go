package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

// gaugeWidth is the width of a gauge in its own units.
const gaugeWidth = 120

// gauges are the pictures of the elements of a value, on one scale.
type gauges struct {
	expect *claims.Expect
	values []claims.Value
	paper  [][]float64 // the paper's numbers, for each value
}

// draw draws each value: a bar where it is expected, a dot for ours, and a diamond for each of the
// paper's numbers. A value on which there is no condition as on a number has no picture.
func (g *gauges) draw() []template.HTML {
	var all []float64
	for i, v := range g.values {
		x, _, _ := v.Quantity()
		if low, high, ok := g.limits(i); ok {
			all = slices.Concat(all, []float64{x}, finite(low, high), g.paper[i])
		}
	}
	out := make([]template.HTML, len(g.values))
	if len(all) == 0 {
		return out
	}
	s := scaleOf(all)
	for i := range g.values {
		if low, high, ok := g.limits(i); ok {
			out[i] = g.one(i, low, high, s)
		}
	}
	return out
}

// limits returns the range in which value i is expected.
func (g *gauges) limits(i int) (low, high float64, ok bool) {
	x, unit, ok := g.values[i].Quantity()
	if !ok || math.IsInf(x, 0) {
		return 0, 0, false
	}
	return limits(g.expect, unit)
}

// one draws value i.
func (g *gauges) one(i int, low, high float64, s scale) template.HTML {
	x, _, _ := g.values[i].Quantity()
	var b strings.Builder
	from, to := s.at(low), s.at(high)
	fmt.Fprintf(&b, `<svg class="g" viewBox="0 0 %d 14" role="img"><path d="M0 7H%[1]d"/>`,
		gaugeWidth)
	fmt.Fprintf(&b, `<rect x="%.0f" y="3" width="%.0f" height="8"/>`, min(from, gaugeWidth-2),
		max(to-from, 2))
	for _, p := range g.paper[i] {
		fmt.Fprintf(&b, `<path class="p" d="M%.0f 2l5 5-5 5-5-5z"/>`, s.at(p))
	}
	class := "n"
	if pass, err := g.expect.Judge(g.values[i]); err == nil && pass {
		class = "y"
	}
	fmt.Fprintf(&b, `<circle class="%s" cx="%.0f" cy="7" r="3"/></svg>`, class, s.at(x))
	return template.HTML(b.String())
}

// limits returns the range in which a condition wants a number of a unit.
func limits(e *claims.Expect, unit string) (low, high float64, ok bool) {
	number := func(v claims.Value) float64 {
		x, u, isNumber := v.Quantity()
		if !isNumber || u != unit {
			ok = false
		}
		return x
	}
	ok = true
	switch e.Op {
	case ">=", ">":
		return number(e.Value), math.Inf(1), ok
	case "<=", "<":
		return math.Inf(-1), number(e.Value), ok
	case "==", "equals":
		return number(e.Value), number(e.Value), ok
	case "between":
		low, high = number(e.Low), number(e.High)
		return low, high, ok
	}
	return 0, 0, false
}

func finite(xs ...float64) []float64 {
	return slices.DeleteFunc(xs, func(x float64) bool { return math.IsInf(x, 0) })
}

// scale maps numbers to the width of a gauge.
type scale struct {
	low, high   float64
	logarithmic bool
}

// scaleOf returns a scale for numbers, with a margin. It is logarithmic if they are positive and
// span more than a factor of 30.
func scaleOf(xs []float64) scale {
	low, high := slices.Min(xs), slices.Max(xs)
	s := scale{low, high, low > 0 && high/low > 30}
	if s.logarithmic {
		s.low, s.high = math.Log(low), math.Log(high)
	}
	margin := (s.high - s.low) / 4
	if margin == 0 {
		margin = max(math.Abs(low)/4, 1e-9)
	}
	s.low, s.high = s.low-margin, s.high+margin
	return s
}

// at returns the place of a number, within the gauge.
func (s scale) at(x float64) float64 {
	if s.logarithmic {
		x = math.Log(max(x, 1e-300))
	}
	return gaugeWidth * min(max((x-s.low)/(s.high-s.low), 0), 1)
}
