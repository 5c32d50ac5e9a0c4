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

// Dialect is the configuration language of one vendor.
type Dialect struct {
	Name, Title string
	render      func(*builder)
	parse       func(text []byte, chip intent.Chip) ([]*intent.Intent, error)
}

// dialects holds all dialects by name.
var dialects = map[string]*Dialect{}

func register(d *Dialect) *Dialect {
	dialects[d.Name] = d
	return d
}

// Names returns the names that Lookup accepts, sorted, without aliases.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// Lookup returns the dialect of a name, which is case-insensitive.
func Lookup(name string) (*Dialect, error) {
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
		return nil, fmt.Errorf("dialect: unknown dialect %q; want one of %s", name,
			strings.Join(Names(), ", "))
	}
	return d, nil
}

// Options modify what is rendered.
type Options struct {
	Unverified bool // include lines without a known source
}

// Rendering is an intent as switch configuration.
type Rendering struct {
	Config    string         // lines to enter
	Undo      string         // lines that remove Config; "" where only a saved configuration can
	Effective *intent.Intent // the intent after rounding
	// parameters that the dialect cannot express: pmax, headroom, alpha
	Omitted  []string
	Warnings []string
}

// Render returns the configuration of an intent.
func (d *Dialect) Render(i *intent.Intent, o Options) (*Rendering, error) {
	warnings, err := i.Validate()
	if err != nil {
		return nil, fmt.Errorf("dialect: %s: %w", d.Name, err)
	}
	effective := *i
	s := &builder{Intent: i, effective: &effective, options: o, warnings: warnings}
	s.checkNames()
	if s.err == nil {
		d.render(s)
	}
	if s.err == nil && s.effective.Kmax <= s.effective.Kmin {
		s.fail("Kmin %v and Kmax %v are equal after rounding, %v", i.Kmin, i.Kmax, s.effective.Kmin)
	}
	if s.err == nil {
		if _, err := s.effective.Validate(); err != nil { // rounding up may raise Kmax to XOFF
			s.fail("after rounding: %w", err)
		}
	}
	if s.err != nil {
		return nil, fmt.Errorf("dialect: %s: %s: %w", d.Name, i.Name, s.err)
	}
	return &Rendering{text(s.lines), text(s.undo), s.effective, s.omitted, s.warnings}, nil
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Parse returns the intents of a configuration and ignores everything else in it. Where thresholds
// are in cells, it needs the chip's cell size.
func (d *Dialect) Parse(text []byte, chip intent.Chip) ([]*intent.Intent, error) {
	intents, err := d.parse(text, chip)
	if err != nil {
		return nil, fmt.Errorf("dialect: %s: %w", d.Name, err)
	}
	return intents, nil
}

// builder collects the lines of a Rendering.
type builder struct {
	*intent.Intent // the intent to render
	effective      *intent.Intent
	options        Options
	lines, undo    []string
	omitted        []string
	warnings       []string
	err            error
}

func (s *builder) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}
func (s *builder) undoLine(format string, args ...any) {
	s.undo = append(s.undo, fmt.Sprintf(format, args...))
}

func (s *builder) warn(format string, args ...any) {
	s.warnings = append(s.warnings, s.Name+": "+fmt.Sprintf(format, args...))
}

// omit warns that the dialect, as far as known, cannot express a parameter.
func (s *builder) omit(what, why string) {
	s.omitted = append(s.omitted, what)
	s.warn("unsupported: %s: %s", what, why)
}

func (s *builder) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// omitOptional is omit for an optional size; 0 needs no warning.
func (s *builder) omitOptional(what string, size units.Bytes) {
	if size > 0 {
		s.omit(what, "no documented line of this dialect sets it")
	}
}

// kilobyte is the vendors' KB, which none of them defines. If a switch counts in units of 1024
// bytes, thresholds are 2.4 % too high.
const kilobyte units.Bytes = 1000

// inUnits returns a size in units, rounded up, and stores the rounded size. It raises sizes below
// lo units and rejects sizes above hi units.
func (s *builder) inUnits(name string, size *units.Bytes, unit units.Bytes, lo, hi int64) int64 {
	n := (int64(*size) + int64(unit) - 1) / int64(unit)
	if n < lo {
		s.warn("%s %v is raised to the minimum, %v", name, *size, units.Bytes(lo)*unit)
		n = lo
	}
	if n > hi {
		s.fail("%s %v: want at most %v on this switch", name, *size, units.Bytes(hi)*unit)
	}
	*size = units.Bytes(n) * unit
	return n
}

// inCells returns a size in bytes, rounded up to whole cells if the chip's cell size is known.
func (s *builder) inCells(name string, size *units.Bytes) int64 {
	cell := max(1, s.Chip.Cell)
	return s.inUnits(name, size, cell, 0, int64(units.GiB)) * int64(cell)
}

// profileName returns the name of the profiles that we create on a switch.
func (s *builder) profileName() string { return prefix + s.Name }

const prefix = "bytetuning_"

var (
	nameOfLayer     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	nameOfInterface = regexp.MustCompile(`^[A-Za-z0-9/_.:-]{1,64}$`)
)

// checkNames rejects names that could inject other commands.
func (s *builder) checkNames() {
	if !nameOfLayer.MatchString(s.Name) {
		s.fail("name %q: want 1 to 40 letters, digits, _ and -", s.Name)
	}
	if len(s.Interfaces) == 0 {
		s.warn("no interfaces: their lines are left out")
	}
	for _, i := range s.Interfaces {
		if !nameOfInterface.MatchString(i) {
			s.fail("interface %q: want 1 to 64 letters, digits and / _ . : -", i)
		}
	}
}
