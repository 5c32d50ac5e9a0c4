package cc

import (
	"fmt"
	"io"
	"strings"
)

// Settings is a set of parameters in the syntax of algorithms, key=value,...: each with its type,
// default, valid range, source and meaning. Declare them, then Read.
type Settings struct{ schema }

// Param declares a parameter. into is a *units.Duration, *units.BitRate, *units.Bytes, *Packets,
// *float64, *int, *bool or *string. valid is an interval such as "(0, 1]" or "[1, inf)", "" for a
// bool, and the list of words for a string ("" for any). source is where the default comes from,
// and text the meaning.
func (s *Settings) Param(into any, name, def, valid, source, text string) {
	s.param(into, name, def, valid, source, text)
}

// OnGuess declares another default of a parameter for paths whose line rate is a guess.
func (s *Settings) OnGuess(name, def string) { s.onGuess(name, def) }

// Read stores the settings in text, and the defaults of all other parameters. While path is nil,
// what is relative to it is neither stored nor checked.
func (s *Settings) Read(text string, path *Path) error {
	given, err := s.split(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return s.fill(given, path)
}

// Explain writes the description of each parameter.
func (s *Settings) Explain(w io.Writer) error { return s.explain(w) }

// Table returns the description of each parameter as a Markdown table.
func (s *Settings) Table() string {
	var b strings.Builder
	b.WriteString("| parameter | type | default | valid | source | meaning " +
		"|\n|---|---|---|---|---|---|\n")
	for _, p := range s.params {
		valid := p.valid
		if _, is := p.into.(*bool); is {
			valid = "on, off"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", p.name, p.kind(), p.def, valid,
			p.source, p.text)
	}
	return b.String()
}
