package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	"bytetuning/dialect.take":    "one case for each word of a switch's grammar",
	"bytetuning/dialect.intents": "one table of SONiC after the other",
	"fabric.findRoutes":          "one breadth-first search",
	"lab/papers/taurus.segments": "one table of segments",
	"lab/papers/taurus.overload": "one experiment, from set-up to measurement",
	"nicoffload/ccp.Decode":      "one case for each kind of message",
}

// tokens cannot be broken: a line that consists of one may be wider.
var tokens = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"URL", regexp.MustCompile(`https?://\S+`)},
	{"hexadecimal", regexp.MustCompile(`(0x)?[0-9A-Fa-f_]{64,}`)},
	{"base64", regexp.MustCompile(`[0-9A-Za-z+/]{64,}={0,2}`)},
	{"directive", regexp.MustCompile(`^//(go:(embed|generate)|nolint).*`)},
	{"struct tag", regexp.MustCompile("^\t+[A-Za-z][\\w, ]* +[^= ]+ +`[a-z]+:\"[^`]*`$")},
}

// TestLineWidth: no line is wider than 100 columns, unless one of tokens or a test's text makes it
// so.
func TestLineWidth(t *testing.T) {
	for _, f := range sources(t) {
		if isPending(f.dir()) {
			continue
		}
		text := verbatimText(f)
		for i, l := range f.lines() {
			if n := columns(l); n > maxColumns && !text[i+1] && unbreakable(l) == "" {
				t.Errorf("%s:%d: %d columns, want at most %d", f.name, i+1, n, maxColumns)
			}
		}
	}
}

func columns(line string) int {
	return len([]rune(line)) + 3*strings.Count(line, "\t")
}

// TestCWidth is TestLineWidth for C.
func TestCWidth(t *testing.T) {
	for _, suffix := range []string{".c", ".h"} {
		require.NoError(t, walk(suffix, func(name string, text []byte) error {
			for i, l := range strings.Split(string(text), "\n") {
				if n := columns(l); n > maxColumns && !isPending(dirOf(name)) {
					t.Errorf("%s:%d: %d columns, want at most %d", name, i+1, n, maxColumns)
				}
			}
			return nil
		}))
	}
}

// unbreakable returns the name of the token that a line consists of, beside quotes and marks of a
// comment, or "".
func unbreakable(line string) string {
	for _, token := range tokens {
		at := token.pattern.FindStringIndex(line)
		if at != nil && strings.Trim(line[:at[0]]+line[at[1]:], "\t /\"`,()+") == "" {
			return token.name
		}
	}
	return ""
}

// verbatimText returns the lines of raw strings in a test: text of programs and files, as they are.
// A string of a single line has to begin the line.
func verbatimText(f *file) map[int]bool {
	lines := map[int]bool{}
	if !f.test() {
		return lines
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING || l.Value[0] != '`' {
			return true
		}
		first, last := f.line(l.Pos()), f.line(l.End())
		begins := strings.HasPrefix(strings.TrimLeft(f.lines()[first-1], "\t"), "`")
		for i := first; i <= last && (begins || last > first); i++ {
			lines[i] = true
		}
		return true
	})
	return lines
}

// TestUnbreakable has a line for each kind of token, and others.
func TestUnbreakable(t *testing.T) {
	hex, words := strings.Repeat("0123abcd", 14), strings.Repeat("word ", 25)
	for line, want := range map[string]string{
		"\t// https://example.com/" + hex:              "URL",
		"// see https://example.com/" + hex:            "",
		"\t\t0x" + hex + ",":                           "hexadecimal",
		"\t\t\"" + strings.Repeat("aB+/", 30) + "==\"": "base64",
		"\t\"" + words + "\"":                          "",
		"//go:embed " + words:                          "directive",
		"//go:build " + words:                          "",
		"\tName string `json:\"" + hex + "\"`":         "struct tag",
		"\tName, Other map[int]bool `json:\"name\"`":   "struct tag",
		"\tname = `json:\"" + hex + "\"`":              "",
		"//\t" + words:                                 "",
		"\tcall(" + strings.Repeat("argument, ", 12):   "",
	} {
		assert.Equal(t, want, unbreakable(line), line)
	}
}

// TestVerbatimText: raw strings are text in tests alone.
func TestVerbatimText(t *testing.T) {
	const source = "package p\n\nvar a = `one line`\n\nvar b = f(`two\nlines`,\n\t`begins`)\n"
	for name, want := range map[string][]int{"p.go": nil, "p_test.go": {5, 6, 7}} {
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, source, 0)
		require.NoError(t, err)
		text := verbatimText(&file{name: name, text: []byte(source), syntax: syntax, set: set})
		assert.Equal(t, want, slices.Sorted(maps.Keys(text)), name)
	}
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
