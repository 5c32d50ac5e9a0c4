package dialect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

// Dialect is the words of one vendor.
type Dialect struct {
	Name, Title string
	render      func(*sheet)
	parse       func(text []byte, chip intent.Chip) ([]*intent.Intent, error)
}

// dialects are all, by name.
var dialects = map[string]*Dialect{}

func register(d *Dialect) *Dialect {
	dialects[d.Name] = d
	return d
}

// Names answers the names that Get knows.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// Get answers the dialect of a name.
func Get(name string) (*Dialect, error) {
	switch name = strings.ToLower(name); name {
	case "cumulus":
		name = "nvue"
	case "cisco", "nx-os":
		name = "nxos"
	case "arista":
		name = "eos"
	}
	d, ok := dialects[name]
	if !ok {
		return nil, fmt.Errorf("dialect: no %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return d, nil
}

// Options change what is rendered.
type Options struct {
	Unverified bool // also lines for which we know no source
}

// Rendering is an intent as configuration.
type Rendering struct {
	Config    string         // what to enter
	Undo      string         // what takes it away again; "" where only a saved configuration does
	Effective *intent.Intent // what the switch then does
	// what of the watermark the dialect does not say: pmax, headroom, alpha
	Omitted  []string
	Warnings []string
}

// Render says an intent.
func (d *Dialect) Render(i *intent.Intent, o Options) (*Rendering, error) {
	warnings, err := i.Validate()
	if err != nil {
		return nil, fmt.Errorf("dialect: %s: %w", d.Name, err)
	}
	got := *i
	s := &sheet{Intent: i, got: &got, options: o, warnings: warnings}
	s.names()
	if s.err == nil {
		d.render(s)
	}
	if s.err == nil && s.got.Kmax <= s.got.Kmin {
		s.refuse("Kmin %v and Kmax %v are the same after rounding, %v", i.Kmin, i.Kmax, s.got.Kmin)
	}
	if s.err == nil {
		if _, err := s.got.Validate(); err != nil { // rounding up may bring Kmax to XOFF
			s.refuse("after rounding: %w", err)
		}
	}
	if s.err != nil {
		return nil, fmt.Errorf("dialect: %s: %s: %w", d.Name, i.Name, s.err)
	}
	return &Rendering{text(s.lines), text(s.undo), s.got, s.omitted, s.warnings}, nil
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Parse reads a configuration back. What of it is no watermark is passed over. Of the chip it needs
// the size of a cell, where thresholds are cells.
func (d *Dialect) Parse(text []byte, chip intent.Chip) ([]*intent.Intent, error) {
	intents, err := d.parse(text, chip)
	if err != nil {
		return nil, fmt.Errorf("dialect: %s: %w", d.Name, err)
	}
	return intents, nil
}

// sheet is a rendering in the making.
type sheet struct {
	*intent.Intent // what is wanted
	got            *intent.Intent
	options        Options
	lines, undo    []string
	omitted        []string
	warnings       []string
	err            error
}

func (s *sheet) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}
func (s *sheet) undone(format string, args ...any) {
	s.undo = append(s.undo, fmt.Sprintf(format, args...))
}

func (s *sheet) warn(format string, args ...any) {
	s.warnings = append(s.warnings, s.Name+": "+fmt.Sprintf(format, args...))
}

// omit is for what the dialect, or what we know of it, has no word for.
func (s *sheet) omit(what, why string) {
	s.omitted = append(s.omitted, what)
	s.warn("unsupported: %s: %s", what, why)
}

func (s *sheet) refuse(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// drop is omit for what need not be given.
func (s *sheet) drop(what string, size units.Bytes) {
	if size > 0 {
		s.omit(what, "no line of this dialect that we know a source for sets it")
	}
}

// kilobyte is what vendors mean by KB, as none says otherwise: what is rounded up to it is too much
// by 2.4 % at most if it is 1024.
const kilobyte units.Bytes = 1000

// in answers how many units a size is, rounded up, and makes that the effective one. It has to be
// between least and most of them.
func (s *sheet) in(name string, size *units.Bytes, unit units.Bytes, least, most int64) int64 {
	n := (int64(*size) + int64(unit) - 1) / int64(unit)
	if n < least {
		s.warn("%s %v is raised to %v, the least there is", name, *size, units.Bytes(least)*unit)
		n = least
	}
	if n > most {
		s.refuse("%s %v: the switch takes %v at most", name, *size, units.Bytes(most)*unit)
	}
	*size = units.Bytes(n) * unit
	return n
}

// bytes are whole cells where the chip's are known.
func (s *sheet) bytes(name string, size *units.Bytes) int64 {
	cell := max(1, s.Chip.Cell)
	return s.in(name, size, cell, 0, int64(units.GiB)) * int64(cell)
}

// profile is the name under which a switch keeps what is ours.
func (s *sheet) profile() string { return prefix + s.Name }

const prefix = "bytetuning_"

var (
	nameOfLayer     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	nameOfInterface = regexp.MustCompile(`^[A-Za-z0-9/_.:-]{1,64}$`)
)

// names refuses what would be another command.
func (s *sheet) names() {
	if !nameOfLayer.MatchString(s.Name) {
		s.refuse("name %q: want up to 40 letters, digits, _ and -", s.Name)
	}
	if len(s.Interfaces) == 0 {
		s.warn("no interfaces: what belongs to them is left out")
	}
	for _, i := range s.Interfaces {
		if !nameOfInterface.MatchString(i) {
			s.refuse("interface %q: want letters, digits and / _ . : -", i)
		}
	}
}
