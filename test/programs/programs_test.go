package programs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/goroce/goroce/dpdk" // so that make test runs no other test beside the builds
	"github.com/goroce/goroce/internal/cli"
)

// others are main packages without this command line.
var others = map[string]string{
	"site/api":        "a step of make docs",
	"site/sbom":       "a step of make release",
	"verbs/libgoroce": "a library",
}

// sameProgram matches the programs that differ from roce_write_bw only in the arguments of
// perftest.Main.
var sameProgram = regexp.MustCompile(`^bench/roce_(write_lat|(read|send|atomic)_(bw|lat))$`)

// program is a built program.
type program struct {
	path string
	dpdk bool // a program for users that links DPDK
}

// build builds all programs.
func build(t *testing.T) []program {
	list := exec.Command("go", "list", "-f",
		`{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	dir := t.TempDir()
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir}
	var all []program
	for line := range strings.Lines(string(out)) {
		pkg, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		const module = "github.com/goroce/goroce/"
		name := strings.TrimPrefix(pkg, module)
		if pkg == "" || others[name] != "" || strings.HasPrefix(name, "examples/") ||
			sameProgram.MatchString(name) {
			continue
		}
		args = append(args, pkg)
		all = append(all, program{filepath.Join(dir, path.Base(pkg)),
			!strings.HasPrefix(name, "test/") && strings.Contains(deps+" ", module+"dpdk/eal ")})
	}
	require.Greater(t, len(all), 10)
	build := exec.Command("go", args...)
	build.Dir = "../.."
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	return all
}

// run runs a program and returns its exit code and its output.
func (p *program) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, p.path, args...)
	c.Env = append(os.Environ(), "COLUMNS=80")
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestPrograms(t *testing.T) {
	for _, p := range build(t) {
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			t.Run("version", func(t *testing.T) { testVersion(t, p) })
			t.Run("help", func(t *testing.T) { testHelp(t, p) })
			t.Run("mistyped", func(t *testing.T) { testMistyped(t, p) })
			t.Run("completion", func(t *testing.T) { testCompletion(t, p) })
		})
	}
}

func testVersion(t *testing.T, p program) {
	code, out, errs := p.run(t, "--version")
	require.Equal(t, cli.OK, code, errs)
	require.Regexp(t, `: goroce `+cli.Release+` \(.+\).*, go1\.`, out)
	if p.dpdk {
		require.Contains(t, out, "DPDK ")
	}
}

func testHelp(t *testing.T, p program) {
	code, out, errs := p.run(t, "--help")
	require.Equal(t, cli.OK, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, "--help")
	require.Contains(t, out, "--version")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "      ") { // not examples
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80, line)
		}
	}
}

func testMistyped(t *testing.T, p program) {
	code, out, errs := p.run(t, "--versoin")
	require.Equal(t, cli.Misuse, code, errs)
	require.Empty(t, out)
	require.Contains(t, errs, "did you mean --version?")
	require.Contains(t, errs, "--help", "where the flags are")
	_, out, _ = p.run(t, "--help")
	if strings.Contains(out, "Available Commands:") {
		code, _, errs = p.run(t, "completoin")
		require.Equal(t, cli.Misuse, code)
		require.Contains(t, errs, "did you mean completion?")
	}
}

func testCompletion(t *testing.T, p program) {
	code, out, errs := p.run(t, "completion", "bash")
	require.Equal(t, cli.OK, code, errs)
	require.Contains(t, out, filepath.Base(p.path))
	dir := t.TempDir()
	code, _, errs = p.run(t, "__man", dir)
	require.Equal(t, cli.OK, code, errs)
	page, err := os.ReadFile(filepath.Join(dir, filepath.Base(p.path)+".1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "SYNOPSIS")
}
