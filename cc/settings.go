package cc

import (
	"fmt"
	"io"
	"strings"
)

// Settings is parameters of something that is set as algorithms are, by key=value,...: each with
// its type, default, valid range, source and meaning. Declare them, then Read.
type Settings struct{ schema }

// Param declares a parameter: where it goes, a *units.Duration, *units.BitRate, *units.Bytes,
// *Packets, *float64, *int, *bool or *string; its default; an interval such as "(0, 1]" or "[1,
// inf)", "" for a bool, the words there are for a string ("" any); where the default comes from;
// and what it means.
func (s *Settings) Param(into any, name, def, valid, source, text string) {
	s.param(into, name, def, valid, source, text)
}

// OnGuess declares another default of a parameter for paths whose line rate is a guess.
func (s *Settings) OnGuess(name, def string) { s.onGuess(name, def) }

// Read stores what text says, and the defaults of everything else. What is relative to the path is
// neither stored nor checked while that is nil.
func (s *Settings) Read(text string, path *Path) error {
	given, err := s.split(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return s.fill(given, path)
}

// Explain writes what each parameter is.
func (s *Settings) Explain(w io.Writer) error { return s.explain(w) }

// Table answers the same as a table of Markdown.
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
