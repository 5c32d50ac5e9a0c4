// Verbs_compat runs unmodified programs of other people over goroce, by roce_run, and writes a
// table of what works (`make verbs-compat`).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

func main() {
	os.Exit(cli.Run(cli.Interruptible(), command(), os.Stdout, os.Stderr, os.Args[1:]...))
}

func command() *cobra.Command {
	c := &cobra.Command{Use: "verbs_compat [flags]", Args: cli.NoArgs,
		Short: "Run other people's programs over goroce and write the table of what works"}
	f := c.Flags()
	out := f.String("out", "", "write the table to this `FILE`")
	only := f.String("run", "", "run the cells that match this `REGEXP`")
	runner := f.String("roce_run", "bin/roce_run", "`PROGRAM` that runs the others")
	limit := f.Duration("timeout", 60*time.Second, "how long a cell may take")
	c.RunE = func(c *cobra.Command, _ []string) error {
		match, err := regexp.Compile(*only)
		if err != nil {
			return cli.Usage(fmt.Errorf("--run: %w", err))
		}
		failed, err := run(c.Context(), *runner, *out, match, *limit)
		if err == nil && failed > 0 {
			err = cli.ErrReported
		}
		return err
	}
	return c
}

// run runs the cells that match and writes the table to out, unless that is empty. It returns the
// number of cells that failed.
func run(ctx context.Context, runner, out string, match *regexp.Regexp,
	limit time.Duration) (failed int, err error) {
	path, err := filepath.Abs(runner)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(path); err != nil {
		return 0, fmt.Errorf("%w; 'make verbs' builds it", err)
	}
	dir, err := os.MkdirTemp("", "goroce-compat")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	r := &runs{roceRun: path, dir: dir, limit: limit}
	defer func() { err = errors.Join(err, r.pair.close()) }()
	var results []result
	for _, c := range cells {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if !match.MatchString(c.name()) {
			continue
		}
		res := r.cell(ctx, c)
		fmt.Printf("%-4s %s %s\n", res.verdict(), c.name(), res.reason)
		results = append(results, res)
		if res.reason != "" {
			failed++
		}
	}
	if out != "" {
		if err := os.WriteFile(out, []byte(table(results)), 0o644); err != nil {
			return failed, err
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(results)-failed, failed)
	return failed, nil
}

// result is how a cell ended.
type result struct {
	cell
	version string
	reason  string // why it failed; empty: it passed
}

func (r *result) verdict() string {
	if r.reason == "" {
		return "pass"
	}
	return "FAIL"
}

// table writes the results as a page of the documentation.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("# Verbs programs that run\n\nWritten by `make verbs-compat`: programs from " +
		"Debian, unmodified, two processes over `memif:` with\n[roce_run](verbs-programs.md); " +
		"MPI with four ranks over one `roced`.\n\n")
	type sum struct{ passed, all int }
	sums := map[string]*sum{}
	var order []string
	for i := range results {
		r := &results[i]
		s := sums[r.suite]
		if s == nil {
			s = &sum{}
			sums[r.suite] = s
			order = append(order, r.suite)
		}
		s.all++
		if r.reason == "" {
			s.passed++
		}
	}
	b.WriteString("| package | version | passed | of |\n|---|---|---|---|\n")
	for _, name := range order {
		version := ""
		for i := range results {
			if results[i].suite == name {
				version = results[i].version
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d |\n", name, version, sums[name].passed, sums[name].all)
	}
	b.WriteString("\n| program and arguments | result |\n|---|---|\n")
	for i := range results {
		r := &results[i]
		verdict := r.verdict()
		if r.reason != "" {
			verdict += ": " + strings.ReplaceAll(r.reason, "|", "\\|")
			if r.because != "" {
				verdict += " (" + r.because + ")"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.name(), verdict)
	}
	return b.String()
}
