package tidy

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// Limits of what a reader has to hold at a time.
const (
	maxColumns       = 100 // of a line, a tab being four
	maxFunctionLines = 70
	maxFileLines     = 500
)

// longFunctions are those that may be longer, each with its reason.
var longFunctions = map[string]string{
	"bytetuning/cmd/bytetuning.renderCommand": "a command's flags and its run, in the order of " +
		"its help",
	"bytetuning/cmd/bytetuning.tune": "a command's flags and its run, in the order of its help",
	"bytetuning/dialect.take":        "one case for each word of a switch's grammar",
	"bytetuning/dialect.intents":     "one table of SONiC after the other",
	"fabric.findRoutes":              "one breadth-first search",
	"lab/papers/taurus.segments":     "one table of segments",
	"lab/papers/taurus.overload":     "one experiment, from set-up to measurement",
	"nicoffload/ccp.Decode":          "one case for each kind of message",
}

// TestLineWidth: no line is wider than 100 columns, unless a literal that cannot be broken makes
// it so.
func TestLineWidth(t *testing.T) {
	for _, f := range sources(t) {
		free := unbreakable(f)
		for i, l := range f.lines() {
			if n := columns(l); n > maxColumns && !free[i+1] {
				t.Errorf("%s:%d: %d columns, more than %d", f.name, i+1, n, maxColumns)
			}
		}
	}
}

func columns(line string) int {
	return len([]rune(line)) + 3*strings.Count(line, "\t")
}

// unbreakable returns the lines that no one can break: those of raw strings and of string
// literals without a space, directives, C code, and preformatted text of comments.
func unbreakable(f *file) map[int]bool {
	free := map[int]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		if long := len(l.Value) > maxColumns/2; l.Value[0] == '`' || long {
			for i := f.line(l.Pos()); i <= f.line(l.End()); i++ {
				free[i] = true
			}
		}
		return true
	})
	for _, g := range f.syntax.Comments {
		for _, c := range g.List {
			pre := strings.HasPrefix(c.Text, "//\t") || strings.HasPrefix(c.Text, "//go:") ||
				strings.HasPrefix(c.Text, "//nolint") || !strings.Contains(c.Text, " ")
			if pre || strings.HasPrefix(c.Text, "/*") || strings.HasPrefix(c.Text, "// #") {
				for i := f.line(c.Pos()); i <= f.line(c.End()); i++ {
					free[i] = true
				}
			}
		}
	}
	return free
}

// TestFunctionLength: a function fits on a screen. Tests may be as long as their tables.
func TestFunctionLength(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.dir() + "." + fn.Name.Name
			n := f.line(fn.End()) - f.line(fn.Pos()) + 1
			if n <= maxFunctionLines {
				continue
			}
			if seen[name] = true; longFunctions[name] == "" {
				t.Errorf("%s: %s has %d lines, more than %d", f.name, fn.Name.Name, n,
					maxFunctionLines)
			}
		}
	}
	for name := range longFunctions {
		if !seen[name] {
			t.Errorf("longFunctions lists %s, which is not longer than %d lines", name,
				maxFunctionLines)
		}
	}
}

// TestFileLength: a file has one concept.
func TestFileLength(t *testing.T) {
	for _, f := range sources(t) {
		if n := len(f.lines()); n > maxFileLines+1 && !f.test() {
			t.Errorf("%s has %d lines, more than %d", f.name, n-1, maxFileLines)
		}
	}
}
