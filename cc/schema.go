package cc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// schema is an algorithm's declaration of its parameters: the destination and the documentation of
// each. The path is known when the algorithm starts; while flags are parsed it is nil.
type schema struct {
	params []param
	orders []order
}

// param is one parameter. The type of into gives its type: *units.Duration, *units.BitRate,
// *units.Bytes, *Packets, *float64, *int, *bool or *string.
type param struct {
	into             any
	name, def, valid string
	guess            string // default where the line rate is a guess; empty: def
	source, text     string

	value float64 // in the base unit of the type, when known
	known bool
}

// order is the condition that one parameter must be below another, or at most as large.
type order struct {
	low, high string
	equal     bool
}

// param declares a parameter. def is a value and valid an interval such as "(0, 1]" or "[1, inf)",
// both in the syntax of flags. source is where the default comes from.
func (s *schema) param(into any, name, def, valid, source, text string) {
	s.params = append(s.params, param{into: into, name: name, def: def, valid: valid,
		source: source, text: text})
}

// largest declares the largest window of a flow. 16 BDP limit nothing on a path that is known.
// Where the line rate is a guess, what is in flight beyond guessedBDP waits in rings of hosts,
// outside of their caches: 1 MiB instead of 4 makes loop: 7 % faster (BenchmarkControl). Both are
// OURS.
func (s *schema) largest(into any, name, text string) {
	s.param(into, name, "16BDP", "(0, inf)", "OURS", text)
	s.onGuess(name, guessedBDP)
}

// onGuess declares another default of a parameter for paths whose line rate is a guess.
func (s *schema) onGuess(name, def string) {
	p := s.find(name)
	p.guess = def
	p.text += "; " + def + " where the line rate is a guess"
}

// guessedBDP keeps the rings between hosts that poll bursts of 32 packets from running empty, as
// they do with one BDP.
const guessedBDP = "4BDP"

// below declares that parameter low must be less than high.
func (s *schema) below(low, high string) { s.orders = append(s.orders, order{low, high, false}) }

// atMost declares that parameter low may not be more than high.
func (s *schema) atMost(low, high string) { s.orders = append(s.orders, order{low, high, true}) }

func (s *schema) find(name string) *param {
	for i := range s.params {
		if s.params[i].name == name {
			return &s.params[i]
		}
	}
	return nil
}

// fill stores the settings, and the defaults of all other parameters. While path is nil, what
// depends on it is not checked. If two defaults contradict each other on a path, the larger one is
// raised.
func (s *schema) fill(given []setting, path *Path) error {
	for i := range s.params {
		if err := s.params[i].set(s.params[i].byDefault(path), path); err != nil {
			return err
		}
	}
	for _, g := range given {
		if err := s.find(g.key).set(g.value, path); err != nil {
			return err
		}
	}
	for _, o := range s.orders {
		low, high := s.find(o.low), s.find(o.high)
		switch {
		case !low.known || !high.known || low.value < high.value || o.equal &&
			low.value == high.value:
		case o.equal && !isGiven(given, o.low) && !isGiven(given, o.high):
			high.store(low.value)
		case o.equal:
			return fmt.Errorf("%s=%s is more than %s=%s", o.low, low.written(given), o.high,
				high.written(given))
		default:
			return fmt.Errorf("%s=%s is not less than %s=%s", o.low, low.written(given), o.high,
				high.written(given))
		}
	}
	return nil
}

// byDefault returns the default on a path.
func (p *param) byDefault(path *Path) string {
	if p.guess != "" && path != nil && path.Guessed {
		return p.guess
	}
	return p.def
}

func isGiven(given []setting, key string) bool {
	return slices.ContainsFunc(given, func(g setting) bool { return g.key == key })
}

// written returns the value as it was given, or the default.
func (p *param) written(given []setting) string {
	for _, g := range given {
		if g.key == p.name {
			return g.value
		}
	}
	return p.def
}

// set reads a value, checks that it is valid, and stores it.
func (p *param) set(text string, path *Path) error {
	if into, ok := p.into.(*bool); ok {
		v, err := parseSwitch(text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		*into = v
		return nil
	}
	if into, ok := p.into.(*string); ok {
		if p.valid != "" && !slices.Contains(strings.Split(p.valid, ", "), text) {
			return fmt.Errorf("%s=%s, want one of %s", p.name, text, p.valid)
		}
		*into = text
		return nil
	}
	v, known, err := p.quantity(text, path)
	if err != nil {
		return fmt.Errorf("%s=%s is not a valid %s value: %w", p.name, text, p.kind(), err)
	}
	if p.known = known; !known {
		return nil
	}
	if inside, err := p.inside(v, path); err != nil {
		return err
	} else if !inside {
		return fmt.Errorf("%s=%s is outside %s", p.name, text, p.valid)
	}
	p.store(v)
	return nil
}

func (p *param) store(v float64) {
	p.value = v
	switch into := p.into.(type) {
	case *units.Duration:
		*into = units.Duration(math.Round(v))
	case *units.BitRate:
		*into = units.BitRate(math.Round(v))
	case *units.Bytes:
		*into = units.Bytes(math.Round(v))
	case *Packets:
		*into = Packets(v)
	case *float64:
		*into = v
	case *int:
		*into = int(v)
	}
}

// kind returns the type's name in messages.
func (p *param) kind() string {
	switch p.into.(type) {
	case *units.Duration:
		return "duration"
	case *units.BitRate:
		return "rate"
	case *units.Bytes:
		return "bytes"
	case *Packets:
		return "packets"
	case *float64:
		return "float"
	case *int:
		return "int"
	case *bool:
		return "bool"
	case *string:
		return "word"
	}
	panic(fmt.Sprintf("cc: parameter %s has type %T", p.name, p.into))
}

// inside reports whether v is in the valid interval. A bound that depends on the path holds for all
// values while path is nil.
func (p *param) inside(v float64, path *Path) (bool, error) {
	in := p.valid
	low, high, ok := strings.Cut(in[1:len(in)-1], ",")
	if !ok {
		return false, fmt.Errorf("%s: %q is not an interval", p.name, in)
	}
	if b, known, err := p.quantity(strings.TrimSpace(low), path); err != nil {
		return false, err
	} else if known && (v < b || v == b && in[0] == '(') {
		return false, nil
	}
	high = strings.TrimSpace(high)
	if high == "inf" {
		return true, nil
	}
	b, known, err := p.quantity(high, path)
	return err == nil && (!known || v < b || v == b && in[len(in)-1] == ']'), err
}

// quantity reads a value in the base unit of its type. It may be a sum, and its terms may be
// relative to the path: in rtt, line, pkt or BDP, as rtt+25us or 0.001line. Those are unknown while
// path is nil.
func (p *param) quantity(text string, path *Path) (v float64, known bool, err error) {
	known = true
	for _, t := range strings.Split(text, "+") {
		term, here, err := p.term(strings.TrimSpace(t), path)
		if err != nil {
			return 0, false, err
		}
		v, known = v+term, known && here
	}
	if known && (math.IsNaN(v) || math.IsInf(v, 0) || v > maxValue) {
		return 0, false, fmt.Errorf("value out of range")
	}
	return v, known, nil
}

// maxValue is a limit that fits into an int64.
const maxValue = 1 << 62

func (p *param) term(text string, path *Path) (v float64, known bool, err error) {
	switch p.into.(type) {
	case *units.Duration:
		if n, ok := times(text, "rtt"); ok {
			return relative(n, path, func() float64 { return float64(path.BaseRTT) })
		}
		d, err := units.ParseDuration(text)
		return float64(d), true, err
	case *units.BitRate:
		if n, ok := times(text, "line"); ok {
			return relative(n, path, func() float64 { return float64(path.LineRate) })
		}
		r, err := units.ParseBitRate(text)
		return float64(r), true, err
	case *units.Bytes:
		return amount(text, path)
	case *Packets:
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return v, true, nil
		} else if n, ok := times(text, "pkt"); ok {
			return n, true, nil
		}
		b, known, err := amount(text, path)
		if err != nil || path == nil {
			return 0, false, err
		}
		return b / float64(path.Payload), known, nil
	case *int:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, false, fmt.Errorf("%q is not a whole number", text)
		}
		return float64(n), true, nil
	}
	if v, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false, fmt.Errorf("%q is not a number", text)
	}
	return v, true, nil
}

// amount reads an amount of payload in the base unit, bytes.
func amount(text string, path *Path) (v float64, known bool, err error) {
	if n, ok := times(text, "BDP"); ok {
		return relative(n, path, func() float64 { return float64(path.BDP()) })
	}
	if n, ok := times(text, "pkt"); ok {
		return relative(n, path, func() float64 { return float64(path.Payload) })
	}
	b, err := units.ParseBytes(text)
	return float64(b), true, err
}

// times reads the number before unit; without a number it returns 1.
func times(text, unit string) (float64, bool) {
	number, ok := strings.CutSuffix(strings.ToLower(text), strings.ToLower(unit))
	if !ok {
		return 0, false
	}
	if number = strings.TrimSpace(number); number == "" {
		return 1, true
	}
	n, err := strconv.ParseFloat(number, 64)
	return n, err == nil
}

func relative(n float64, path *Path, unit func() float64) (float64, bool, error) {
	if path == nil {
		return 0, false, nil
	}
	return n * unit(), true, nil
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "on", "true", "yes", "1":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q, want on or off", text)
}
