package claims

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Value is the value of a metric: a number in the metric's own unit, a quantity that carries its
// unit, a bool, a text, a list or a map of values. The zero Value is null: not measured.
type Value struct {
	// nil, bool, string, float64, units.Duration, units.Bytes, units.BitRate, []Value or []field
	x any
}

// field is an element of a map. Maps keep their order, as sweeps over priorities or rates are
// ordered.
type field struct {
	name  string
	value Value
}

// Number returns a number in the metric's unit, or without one. Infinity is shown as "infinite";
// NaN becomes null.
func Number(x float64) Value {
	if math.IsNaN(x) {
		return Value{}
	}
	return Value{x}
}

// Time returns a duration. One of units.Forever or more is infinite: an event that never happened.
func Time(d units.Duration) Value {
	if d >= units.Forever {
		return Number(math.Inf(1))
	}
	return Value{d}
}

// Size returns an amount of data.
func Size(b units.Bytes) Value { return Value{b} }

// Rate returns a rate in bits per second.
func Rate(r units.BitRate) Value { return Value{r} }

// Bool returns a truth value.
func Bool(b bool) Value { return Value{b} }

// Text returns a word, such as the name of a state. A text in the form of a quantity ("4.8us", "2.6
// MB", "10Gbps", "infinite") becomes that quantity.
func Text(s string) Value {
	if q, ok := quantity(s); ok {
		return q
	}
	return Value{s}
}

// List returns a sequence of values, such as a series in the order of its sweep.
func List(values ...Value) Value { return Value{append([]Value{}, values...)} }

// Numbers returns a list of numbers.
func Numbers(xs ...float64) Value {
	list := make([]Value, len(xs))
	for i, x := range xs {
		list[i] = Number(x)
	}
	return Value{list}
}

// Point returns an element of a series with the swept parameter: y at x.
func Point(x, y float64) Value { return Numbers(x, y) }

// With returns the map v with x added under name. The zero Value is an empty map; any other value
// that is not a map is dropped.
func (v Value) With(name string, x Value) Value {
	fields, _ := v.x.([]field)
	fields = slices.Clone(fields)
	for i := range fields {
		if fields[i].name == name {
			fields[i].value = x
			return Value{fields}
		}
	}
	return Value{append(fields, field{name, x})}
}

// IsNull reports whether nothing was measured.
func (v Value) IsNull() bool { return v.x == nil }

// get returns the element of a map.
func (v Value) get(name string) (Value, bool) {
	fields, _ := v.x.([]field)
	for _, f := range fields {
		if f.name == name {
			return f.value, true
		}
	}
	return Value{}, false
}

// String formats v for people: 0.97, 4.8us, [send, probe], {p2: 1, p4: 0.5}.
func (v Value) String() string {
	switch x := v.x.(type) {
	case nil:
		return "null"
	case float64:
		return numberText(x)
	case []Value:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = e.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []field:
		parts := make([]string, len(x))
		for i, f := range x {
			parts[i] = f.name + ": " + f.value.String()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v.x)
}

const infinite = "infinite"

func numberText(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return infinite
	case math.IsInf(x, -1):
		return "-" + infinite
	case x != 0 && (math.Abs(x) < 1e-6 || math.Abs(x) >= 1e21):
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// quantity parses a text that carries its unit: ps ns us ms s, B KB MB GB and their binary
// counterparts, bps Kbps Mbps Gbps or b/s, with or without a blank between.
func quantity(s string) (Value, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	if digits == infinite {
		return Number(math.Inf(map[bool]int{true: -1, false: 1}[negative])), true
	}
	if digits == "" || !strings.Contains("0123456789.", digits[:1]) {
		return Value{}, false
	}
	var x any
	var err error
	switch {
	case strings.HasSuffix(s, "bps") || strings.HasSuffix(s, "b/s"):
		var r units.BitRate
		r, err = units.ParseBitRate(digits)
		if x = r; negative {
			x = -r
		}
	case strings.HasSuffix(s, "B"):
		var b units.Bytes
		b, err = units.ParseBytes(digits)
		if x = b; negative {
			x = -b
		}
	case strings.HasSuffix(s, "s"):
		var d units.Duration
		d, err = units.ParseDuration(s)
		x = Time(d).x
	default:
		return Value{}, false
	}
	return Value{x}, err == nil
}

// Quantity returns a number with its unit: s, B, b/s, or none. It returns false for other values.
func (v Value) Quantity() (x float64, unit string, ok bool) {
	x, kind, ok := v.scalar()
	switch kind {
	case "time":
		return x / float64(units.Second), "s", ok
	case "size":
		return x, "B", ok
	case "rate":
		return x, "b/s", ok
	}
	return x, "", ok
}

// Elements returns the elements of a list or map and their names, which a list does not have. It
// returns false for other values.
func (v Value) Elements() (names []string, elements []Value, ok bool) {
	switch x := v.x.(type) {
	case []Value:
		return make([]string, len(x)), x, true
	case []field:
		for _, f := range x {
			names, elements = append(names, f.name), append(elements, f.value)
		}
		return names, elements, true
	}
	return nil, nil, false
}
