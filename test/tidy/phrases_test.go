package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A phrase is one that comments, string literals and documentation do not contain, because a
// reader has to translate it first.
type phrase struct {
	pattern *regexp.Regexp // of lower-case text with single spaces
	except  *regexp.Regexp // of text that may contain it; nil for none
	want    string         // what to write instead
}

// newPhrase returns a phrase that stands alone, and not within any of the exceptions.
func newPhrase(pattern, except, want string) phrase {
	p := phrase{regexp.MustCompile(`\b(` + pattern + `)\b`), nil, want}
	if except != "" {
		p.except = regexp.MustCompile(`\b(` + except + `)\b`)
	}
	return p
}

var phrases = []phrase{
	newPhrase(`answers`, ``, "a function returns; a peer replies or responds"),
	newPhrase(`(says?|tells?) whether`, ``, "a predicate reports whether"),
	newPhrase(`is that`, `(reason|difference|consequence|point|result|assumption|problem|idea|`+
		`exception|rule|advantage|cost|price) is that|is that (of|for|in|from|at|with)`,
		"a noun, or what it does, instead of a sentence"),
	newPhrase(`(is|are) none of`, ``, "want one of, or out of range"),
	newPhrase(`whoever`, ``, "name the subject"),
	newPhrase(`who wants`, ``, "begin with what the reader does: For X, use Y"),
	newPhrase(`is no`, `is no (longer|more|less|later|earlier|greater|smaller|larger|faster|`+
		`slower)|there is no`, "is not a"),
	newPhrase(`hears?`, `hear implements`, "receives, or is called for"),
	newPhrase(`ow(e|es|ed)`, ``, "has to send, or has outstanding"),
	newPhrase(`heed(s|ed)?`, ``, "applies, or obeys"),
	newPhrase(`tells|(is|are) told`, ``, "reports or passes; receives or is notified of"),
}

// A finding is where a phrase occurs.
type finding struct {
	line         int
	phrase, want string
}

// find returns the phrases in a text that begins at a line. Marks of comments and line ends count
// as spaces, so that a phrase may go over two lines.
func find(text string, line int) []finding {
	var all []finding
	flat, lines := flatten(text, line)
	for _, p := range phrases {
		var free [][]int
		at := p.pattern.FindAllStringIndex(flat, -1)
		if len(at) > 0 && p.except != nil {
			free = p.except.FindAllStringIndex(flat, -1)
		}
		for _, m := range at {
			excepted := slices.ContainsFunc(free, func(f []int) bool {
				return f[0] <= m[0] && m[1] <= f[1]
			})
			if !excepted {
				all = append(all, finding{lines[m[0]], flat[m[0]:m[1]], p.want})
			}
		}
	}
	return all
}

// flatten returns a text in lower case and with single spaces, and the line of each of its bytes.
func flatten(text string, line int) (string, []int) {
	var flat []byte
	var lines []int
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimLeft(l, "/* \t")
		for _, word := range strings.Fields(strings.ToLower(l)) {
			for _, b := range []byte(word + " ") {
				flat, lines = append(flat, b), append(lines, line+i)
			}
		}
	}
	return string(flat), lines
}

// prose calls visit with each comment and each string literal of a file, and the line where it
// begins.
func prose(f *file, visit func(text string, line int)) {
	for _, g := range f.syntax.Comments {
		var text []string
		for i, c := range g.List {
			for i > 0 && f.line(g.List[0].Pos())+len(text) < f.line(c.Pos()) {
				text = append(text, "")
			}
			text = append(text, strings.Split(c.Text, "\n")...)
		}
		visit(strings.Join(text, "\n"), f.line(g.Pos()))
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			visit(l.Value, f.line(l.Pos()))
		}
		return true
	})
}

// TestPhrases: comments, errors, help texts and documentation are plain English.
func TestPhrases(t *testing.T) {
	check := func(name, text string, line int) {
		for _, x := range find(text, line) {
			t.Errorf("%s:%d: %q: %s", name, x.line, x.phrase, x.want)
		}
	}
	for _, f := range sources(t) {
		if f.name == "test/tidy/phrases_test.go" || isPending(f.dir()) || isPending(f.name) {
			continue
		}
		prose(f, func(text string, line int) { check(f.name, text, line) })
	}
	for _, suffix := range []string{".c", ".h"} {
		require.NoError(t, walk(suffix, func(name string, text []byte) error {
			if !isPending(dirOf(name)) {
				check(name, string(text), 1)
			}
			return nil
		}))
	}
	pages := 0
	require.NoError(t, walk(".md", func(name string, text []byte) error {
		if strings.HasPrefix(name, "docs/lab/") || isPending(name) { // docs/lab: results of runs
			return nil
		}
		pages++
		check(name, string(text), 1)
		return nil
	}))
	assert.Greater(t, pages, 5, "pages of documentation")
}

// TestFindPhrases: what a finding names, and what is none.
func TestFindPhrases(t *testing.T) {
	for text, want := range map[string]string{
		"// Size answers how many":               "7: answers",
		"// a\n// room is\n// that it was":       "8: is that",
		"// The reason is that it was":           "",
		"// its size is that of a frame":         "",
		`"seven is no number"`:                   "7: is no",
		"// there is no room, it is no\n//later": "",
		`"9 is none of 8 hosts"`:                 "7: is none of",
		"// Whoever hears it":                    "7: whoever, 7: hears",
		"/* who\n   wants more */":               "7: who wants",
		"// has says whether it is":              "7: says whether",
		"// Who owns it; the owner is showed":    "",
		"// it was told the reason":              "",
	} {
		var got []string
		for _, x := range find(text, 7) {
			got = append(got, fmt.Sprintf("%d: %s", x.line, x.phrase))
		}
		assert.Equal(t, want, strings.Join(got, ", "), text)
	}
}
