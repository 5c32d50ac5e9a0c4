package cc

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goroce/goroce/units"
)

// Spec is an algorithm with its parameters. It is comparable; the zero Spec names none.
type Spec struct {
	name     string
	settings string // in the order they were given
}

// Factory makes the algorithms of flows: a Spec, or a wrapper around one.
type Factory interface {
	// New returns the algorithm for one flow, or an error if it cannot work on this path.
	New(path Path) (Algorithm, error)
	// Name returns the short form, String the full one.
	Name() string
	String() string
}

// setting is one key=value.
type setting struct{ key, value string }

// blueprint is the parameters of an algorithm, and makes one of them. A new one is made for each
// algorithm, and the algorithm may keep it.
type blueprint interface {
	declare(s *schema)
	build(path Path) Algorithm
}

// entry is an algorithm of the registry.
type entry struct {
	name  string
	title string
	needs Signals
	new   func() blueprint
}

// Names returns the names of all algorithms, sorted.
func Names() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.name
	}
	slices.Sort(names)
	return names
}

func lookup(name string) (entry, error) {
	for _, a := range algorithms {
		if a.name == name {
			return a, nil
		}
	}
	return entry{}, fmt.Errorf("cc: unknown algorithm %q, want one of %s", name,
		strings.Join(Names(), ", "))
}

// Parse reads a name and parameters, such as swift:base_target=25us,beta=0.8. A value may be
// relative to the path where its type has a unit for it: durations in rtt, rates in line, amounts
// of data in BDP or pkt, and sums of them, such as rtt+25us.
func Parse(text string) (Spec, error) {
	name, settings, _ := strings.Cut(strings.TrimSpace(text), ":")
	spec := Spec{name: strings.TrimSpace(name), settings: strings.TrimSpace(settings)}
	_, err := spec.fill(nil)
	if err != nil {
		return Spec{}, err
	}
	return spec, nil
}

// String returns the text that Parse reads.
func (s Spec) String() string {
	if s.settings == "" {
		return s.name
	}
	return s.name + ":" + s.settings
}

// Name returns the name of the algorithm.
func (s Spec) Name() string { return s.name }

// ByMarks reports whether the algorithm reduces only when packets are marked, so that it does
// nothing on a path without marks.
func (s Spec) ByMarks() bool {
	e, err := lookup(s.name)
	if err != nil {
		return false
	}
	if e.needs&SignalMarks != 0 {
		return true
	}
	a, err := s.New(Path{LineRate: units.Gbps, BaseRTT: units.Millisecond, Payload: units.KiB,
		Signals: ^Signals(0)})
	return err == nil && a.Events().Has(CNP)
}

// New returns the algorithm for one flow. It fails on a path that lacks a signal the algorithm
// needs, and for parameters that are invalid on this path.
func (s Spec) New(path Path) (Algorithm, error) {
	e, err := lookup(s.name)
	if err != nil {
		return nil, err
	}
	if err := path.check(); err != nil {
		return nil, fmt.Errorf("cc: %s: %w", s.name, err)
	}
	if missing := e.needs &^ path.Signals; missing != 0 {
		return nil, fmt.Errorf("cc: %s needs %v, and this path gives %v", s.name, missing,
			path.Signals)
	}
	b, err := s.fill(&path)
	if err != nil {
		return nil, err
	}
	return b.build(path), nil
}

// fill returns a blueprint with the parameters of the Spec.
func (s Spec) fill(path *Path) (blueprint, error) {
	e, err := lookup(s.name)
	if err != nil {
		return nil, err
	}
	given, err := e.parse(s.settings)
	if err == nil {
		b, params := e.new(), schema{}
		b.declare(&params)
		if err = params.fill(given, path); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("cc: %s: %w", s.name, err)
}

// parse splits settings and checks every key.
func (e entry) parse(settings string) ([]setting, error) {
	return e.schema().split(settings)
}

func (e entry) schema() *schema {
	s := &schema{}
	e.new().declare(s)
	return s
}

// split splits settings and checks every key.
func (s *schema) split(settings string) (given []setting, err error) {
	if settings == "" {
		return nil, nil
	}
	for _, text := range strings.Split(settings, ",") {
		key, value, ok := strings.Cut(text, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is not key=value", text)
		case s.find(key) == nil:
			return nil, s.unknown(key)
		case isGiven(given, key):
			return nil, fmt.Errorf("%s is given twice", key)
		}
		given = append(given, setting{key, value})
	}
	return given, nil
}

// unknown returns the error for an unknown key: it lists the parameters, and the algorithms that
// have the key.
func (s *schema) unknown(key string) error {
	var names, owners []string
	for _, p := range s.params {
		names = append(names, p.name)
	}
	for _, e := range algorithms {
		if e.schema().find(key) != nil {
			owners = append(owners, e.name)
		}
	}
	text := fmt.Sprintf("unknown parameter %q", key)
	if len(owners) > 0 {
		text += fmt.Sprintf(" (it belongs to %s)", strings.Join(owners, ", "))
	}
	if len(names) == 0 {
		return errors.New(text + ", want none")
	}
	return fmt.Errorf("%s, want one of %s", text, strings.Join(names, ", "))
}

// Help writes the title of the algorithm name, and each of its parameters with type, default, valid
// range, source of the default and meaning. The name "all" or an empty one lists the algorithms.
func Help(w io.Writer, name string) error {
	if name == "" || name == "all" {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, n := range Names() {
			e, _ := lookup(n)
			fmt.Fprintf(t, "%s\t%s\n", e.name, e.title)
		}
		return t.Flush()
	}
	e, err := lookup(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", e.name, e.title)
	if e.needs != 0 {
		fmt.Fprintf(w, "It needs a path that gives %v.\n", e.needs)
	}
	return e.schema().explain(w)
}

// explain writes the description of each parameter.
func (s *schema) explain(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "parameter\ttype\tdefault\tvalid\tsource\tmeaning")
	for _, p := range s.params {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.name, p.kind(), p.def, p.valid, p.source,
			p.text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, o := range s.orders {
		fmt.Fprintf(w, "%s\n", o)
	}
	return nil
}

func (o order) String() string {
	if o.equal {
		return o.low + " may not be more than " + o.high
	}
	return o.low + " must be less than " + o.high
}
