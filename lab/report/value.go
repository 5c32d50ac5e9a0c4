package report

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

// Cell is a value in a table: a number, or an element of a map or list.
type Cell struct {
	Name, Text, Exact string
	Gauge             template.HTML // a picture of the number beside what is expected; may be empty
}

// manyCells is the number of elements above which a table is folded.
const manyCells = 10

// cells returns the elements of a value, or the value itself.
func cells(c *claims.Claim, e *claims.Expect, v claims.Value) []Cell {
	names, elements, ok := v.Elements()
	if !ok {
		names, elements = []string{""}, []claims.Value{v}
	} else if e.Op == "each" {
		e = e.Cond
	}
	if ok && !slices.ContainsFunc(names, func(name string) bool { return name != "" }) &&
		!slices.ContainsFunc(elements, isList) { // [send, probe, send]
		return []Cell{{Text: display(v), Exact: v.String()}}
	}
	g := &gauges{expect: e, values: slices.Clone(elements)}
	out := make([]Cell, len(elements))
	for i, x := range elements {
		name := names[i]
		if _, point, ok := x.Elements(); ok && name == "" && len(point) == 2 { // [x, y]
			name, x = display(point[0]), point[1]
		}
		g.values[i], g.paper = x, append(g.paper, paperMarks(c, x, i, len(elements)))
		out[i] = Cell{Name: name, Text: display(x), Exact: x.String()}
	}
	if len(elements) <= manyCells {
		for i, picture := range g.draw() {
			out[i].Gauge = picture
		}
	}
	return out
}

func isList(v claims.Value) bool {
	_, _, ok := v.Elements()
	return ok
}

// Named reports whether an element has a name.
func named(all []Cell) bool {
	for _, c := range all {
		if c.Name != "" {
			return true
		}
	}
	return false
}

// prefixes are those of units, largest first.
var prefixes = map[string][]struct {
	name string
	size float64
}{
	"s":   {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}},
	"B":   {{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}},
	"b/s": {{"Gb/s", 1e9}, {"Mb/s", 1e6}, {"Kb/s", 1e3}, {"b/s", 1}},
}

// display returns a value as text for people, with three digits.
func display(v claims.Value) string {
	x, unit, ok := v.Quantity()
	if !ok {
		if _, elements, ok := v.Elements(); ok {
			parts := make([]string, len(elements))
			for i, e := range elements {
				parts[i] = display(e)
			}
			return strings.Join(parts, ", ")
		}
		return v.String()
	}
	if math.IsInf(x, 0) {
		return v.String()
	}
	for i, p := range prefixes[unit] {
		if math.Abs(x) >= p.size || x != 0 && i == len(prefixes[unit])-1 {
			return digits(x/p.size) + " " + p.name
		}
	}
	if unit != "" {
		return "0 " + unit
	}
	return digits(x)
}

// digits returns a number with three digits; whole numbers below a million have all of theirs.
func digits(x float64) string {
	size := math.Abs(x)
	switch {
	case x == math.Trunc(x) && size < 1e6:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case size >= 1000 && size < 1e6:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case size >= 1e6 || size < 1e-4:
		return power(x)
	}
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.Contains(text, "e") { // 1e+03
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return text
}

// power returns a number with a power of ten: 9.8·10¹⁰.
func power(x float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	n, _ := strconv.Atoi(exponent)
	raised := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻").Replace(strconv.Itoa(n))
	mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".")
	return mantissa + "·10" + raised
}
