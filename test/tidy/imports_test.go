package tidy

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rule says which packages of the module a package may import.
type rule struct {
	packages []string // patterns: a package, or "x/…" for those below x
	all      bool     // any but those of packages
}

// covers reports whether a pattern of the table stands for a package.
func covers(pattern, pkg string) bool {
	below, tree := strings.CutSuffix(pattern, "/…")
	return pattern == pkg || tree && strings.HasPrefix(pkg, below+"/")
}

func (r rule) allows(pkg string) bool {
	listed := slices.ContainsFunc(r.packages, func(p string) bool { return covers(p, pkg) })
	return listed != r.all
}

var quoted = regexp.MustCompile("`([^`]+)`")

func names(cell string) []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// rules reads the table of packages of docs/architecture.md: which packages, what lives there, and
// what they import of ours: a list, "none", "all", or "all but" a list.
func rules(t *testing.T) (patterns []string, of map[string]rule) {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	of = map[string]rule{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		imports := strings.TrimSpace(cells[3])
		r := rule{packages: names(imports), all: strings.HasPrefix(imports, "all")}
		switch but := strings.HasPrefix(imports, "all but "); {
		case imports == "none" || imports == "all":
			require.Empty(t, r.packages, line)
		default:
			require.NotEmpty(t, r.packages, line)
			require.Equal(t, r.all, but, line)
		}
		for _, p := range names(cells[1]) {
			require.NotContains(t, of, p, "two rows")
			patterns = append(patterns, p)
			of[p] = r
		}
	}
	require.NotEmpty(t, patterns)
	return patterns, of
}

// TestImports: packages import what the table of docs/architecture.md says, and nothing else of
// ours. Tests may import what they like, but nothing of the core imports tests' rooms.
func TestImports(t *testing.T) {
	patterns, of := rules(t)
	used := map[string]bool{}
	for _, f := range sources(t) {
		if f.test() || strings.HasPrefix(f.name, "examples/") {
			continue
		}
		i := slices.Index(patterns, f.dir())
		if i < 0 {
			i = slices.IndexFunc(patterns, func(p string) bool { return covers(p, f.dir()) })
		}
		if i < 0 {
			t.Errorf("%s: the table of docs/architecture.md has no row for %s", f.name, f.dir())
			continue
		}
		used[patterns[i]] = true
		for _, s := range f.syntax.Imports {
			name := strings.Trim(s.Path.Value, `"`)
			ours, is := strings.CutPrefix(name+"/", module+"/")
			if !is {
				continue
			}
			ours = path.Clean(ours)
			if !of[patterns[i]].allows(ours) {
				t.Errorf("%s:%d: %s may not import %s, see docs/architecture.md",
					f.name, f.line(s.Pos()), f.dir(), ours)
			}
		}
	}
	for _, p := range patterns {
		assert.True(t, used[p], "docs/architecture.md has a row for %s, which does not exist", p)
	}
}

// TestExamplesImports: what a newcomer copies uses what everybody may use.
func TestExamplesImports(t *testing.T) {
	private := regexp.MustCompile(`^"` + module + `/(internal|bench|lab|test)/`)
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.name, "examples/") {
			continue
		}
		for _, s := range f.syntax.Imports {
			if private.MatchString(s.Path.Value) {
				t.Errorf("%s:%d: an example imports %s", f.name, f.line(s.Pos()), s.Path.Value)
			}
		}
	}
}

// pure are packages that own no goroutine and read no clock: time comes in as an argument.
var pure = []string{"units", "cc", "prioplus", "tocc", "carc", "transport", "transport/wire",
	"trace", "internal/endpoint", "internal/pace", "internal/neigh", "internal/rdmacm", "fabric"}

// TestPure: the core has no I/O and no cgo, and only dpdk and verbs/libgoroce have cgo.
func TestPure(t *testing.T) {
	forbidden := []string{`"C"`, `"net"`, `"os"`, `"math/rand"`, `"syscall"`, `"net/http"`}
	for _, f := range sources(t) {
		for _, s := range f.syntax.Imports {
			cgo := s.Path.Value == `"C"`
			switch {
			case f.test():
			case cgo && !strings.HasPrefix(f.name, "dpdk/") &&
				!strings.HasPrefix(f.name, "verbs/libgoroce/"):
				t.Errorf("%s:%d: only dpdk and verbs/libgoroce import C", f.name, f.line(s.Pos()))
			case slices.Contains(pure, f.dir()) && slices.Contains(forbidden, s.Path.Value):
				t.Errorf("%s:%d: %s may not import %s", f.name, f.line(s.Pos()), f.dir(),
					s.Path.Value)
			}
		}
	}
}

// TestFaultsAreForTests: dpdk/faults replaces functions of libc in the whole process.
func TestFaultsAreForTests(t *testing.T) {
	for _, f := range sources(t) {
		for _, s := range f.syntax.Imports {
			if s.Path.Value == `"`+module+`/dpdk/faults"` && !f.test() {
				t.Errorf("%s:%d: only tests import dpdk/faults", f.name, f.line(s.Pos()))
			}
		}
	}
}
