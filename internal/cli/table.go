package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Table declares all flags of a program.
type Table struct {
	Groups     []Group
	ShortNames bool // errors use short names where there are any
}

// Group is a section of the help. A title is followed by a colon; the only group may have none.
type Group struct {
	Title string
	Flags []Flag
}

// FlagSet returns the program's flags, bound to their settings.
func (t *Table) FlagSet(name string) *pflag.FlagSet {
	all := pflag.NewFlagSet(name, pflag.ContinueOnError)
	all.Usage = func() {}
	for i := range t.Groups {
		all.AddFlagSet(t.Groups[i].flagSet())
	}
	return all
}

func (g *Group) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(g.Title, pflag.ContinueOnError)
	fs.SortFlags = false
	for i := range g.Flags {
		if f := &g.Flags[i]; !f.Absent {
			f.bind(fs)
		}
	}
	return fs
}

// Usage returns the help of all groups, wrapped at columns; 0: not wrapped.
func (t *Table) Usage(columns int) string {
	var b strings.Builder
	for i := range t.Groups {
		g := &t.Groups[i]
		fs := g.flagSet()
		if !fs.HasAvailableFlags() {
			continue
		}
		if g.Title != "" {
			fmt.Fprintf(&b, "\n%s:\n", wrapped(g.Title, columns))
		}
		b.WriteString(fs.FlagUsagesWrapped(columns))
	}
	return b.String()
}

// wrapped breaks a title that is longer than columns (0: any length) at blanks.
func wrapped(title string, columns int) string {
	if columns == 0 || len(title) < columns {
		return title
	}
	if blank := strings.LastIndex(title[:columns], " "); blank > 0 {
		return title[:blank] + "\n  " + wrapped(title[blank+1:], columns-2)
	}
	return title
}

// Flag returns the declaration of a flag. It panics if there is none.
func (t *Table) Flag(name string) *Flag {
	for i := range t.Groups {
		for j := range t.Groups[i].Flags {
			if f := &t.Groups[i].Flags[j]; f.Name == name {
				return f
			}
		}
	}
	panic("cli: no flag --" + name)
}

// Validate returns the errors of all values, joined.
func (t *Table) Validate() error {
	var errs []error
	for _, g := range t.Groups {
		for i := range g.Flags {
			f := &g.Flags[i]
			name := "--" + f.Name
			if t.ShortNames && f.Short != "" {
				name = "-" + f.Short
			}
			errs = append(errs, f.validate(name)...)
		}
	}
	return errors.Join(errs...)
}

// PeerSettings returns the values to be compared with the peer's, by flag.
func (t *Table) PeerSettings() map[string]string {
	m := map[string]string{}
	for _, g := range t.Groups {
		for i := range g.Flags {
			f := &g.Flags[i]
			if f.Agreement < Compared {
				continue
			}
			text, compared := f.Text(), true
			if f.PeerValue != nil {
				text, compared = f.PeerValue()
			}
			if compared {
				m["--"+f.Name] = text
			}
		}
	}
	return m
}

// Differences lists the settings whose values differ at the peer, in alphabetical order. A setting
// that is only in one of the maps differs, except if its value is empty.
func (t *Table) Differences(ours, theirs map[string]string) []string {
	names := map[string]bool{}
	for name := range ours {
		names[name] = true
	}
	for name := range theirs {
		names[name] = true
	}
	var differ []string
	for name := range names {
		a, b := ours[name], theirs[name]
		if a == b || (a == "" || b == "") && t.isOptional(name) {
			continue
		}
		differ = append(differ, fmt.Sprintf("%s is %s here and %s at the peer", name, orNone(a),
			orNone(b)))
	}
	slices.Sort(differ)
	return differ
}

// isOptional reports whether name is a flag that is compared only if both ends give it.
func (t *Table) isOptional(name string) bool {
	for _, g := range t.Groups {
		for i := range g.Flags {
			if "--"+g.Flags[i].Name == name {
				return g.Flags[i].Agreement == ComparedIfGiven
			}
		}
	}
	return false
}

func orNone(s string) string {
	if s == "" {
		return "not given"
	}
	return s
}

// Except returns title with a note that the group's flags are the same at both ends, except those
// that are Free.
func (g Group) Except(title string) string {
	var free []string
	for _, f := range g.Flags {
		if f.Agreement == Free && !f.Absent && !f.Hidden {
			free = append(free, "--"+f.Name)
		}
	}
	if len(free) == 0 {
		return title + " (the same at both ends)"
	}
	last := len(free) - 1
	list := strings.Join(free[:last], ", ")
	if last > 0 {
		list += " and "
	}
	return fmt.Sprintf("%s (the same at both ends, except %s)", title, list+free[last])
}
