package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// program returns a program without subcommands that ends with err.
func program(err error) *cobra.Command {
	table, _, _ := example()
	c := &cobra.Command{Use: "prog [flags]", Short: "does things", Long: "prog does things.",
		Args: NoArgs, RunE: func(*cobra.Command, []string) error { return err }}
	table.SetHelp(c)
	NormalizeFlags(c.Flags())
	return c
}

// family returns a program with subcommands.
func family() *cobra.Command {
	root := &cobra.Command{Use: "fam", Short: "has members"}
	root.AddCommand(&cobra.Command{Use: "list", Short: "lists", Args: NoArgs,
		RunE: func(*cobra.Command, []string) error { return nil }})
	return root
}

func TestRun(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(Signal{syscall.SIGTERM})
	for _, c := range []struct {
		root      *cobra.Command
		ctx       context.Context
		args      string
		code      int
		out, errs string
	}{
		{program(nil), t.Context(), "", OK, "", ""},
		{program(errors.New("no\nnot at all")), t.Context(), "", Failed, "",
			"prog: no\nprog: not at all\n"},
		{program(ErrReported), t.Context(), "", Failed, "", ""},
		{program(Usage(errors.New("prog: bad"))), t.Context(), "", Misuse, "", "prog: bad\n"},
		{program(errors.New("broken off")), interrupted, "", 143, "",
			"prog: interrupted by SIGTERM\n"},
		{program(nil), t.Context(), "--dept 3", Misuse, "", "did you mean --depth?"},
		{program(nil), t.Context(), "what", Misuse, "",
			`unexpected argument "what"; see prog --help`},
		{program(nil), t.Context(), "-h", OK, "Traffic:", ""},
		{program(nil), t.Context(), "--help", OK, "--version", ""},
		{program(nil), t.Context(), "--version", OK, "prog: goroce " + Release, ""},
		{program(nil), t.Context(), "completion bash", OK, "bash completion", ""},
		{program(nil), t.Context(), "__complete --dep", OK, "--depth", "Completion ended"},
		{family(), t.Context(), "list", OK, "", ""},
		{family(), t.Context(), "lst", Misuse, "",
			`unknown command "lst" for "fam"; did you mean list?`},
		{family(), t.Context(), "", OK, "Available Commands", ""},
	} {
		t.Run(c.root.Name()+" "+c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(c.ctx, c.root, &out, &errs, strings.Fields(c.args)...)
			require.Equal(t, c.code, code, errs.String())
			require.Contains(t, out.String(), c.out)
			require.Contains(t, errs.String(), c.errs)
			if c.errs == "" {
				require.Empty(t, errs.String())
			}
		})
	}
}

func TestHelpFits(t *testing.T) {
	for _, columns := range []int{80, 100} {
		t.Setenv("COLUMNS", fmt.Sprint(columns))
		for _, root := range []*cobra.Command{program(nil), family()} {
			var out bytes.Buffer
			require.Equal(t, OK, Run(t.Context(), root, &out, &out, "--help"))
			for l := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len(strings.TrimRight(l, "\n")), columns, l)
			}
		}
	}
}

func TestManual(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, OK, Run(t.Context(), family(), os.Stdout, os.Stderr, "__man", dir))
	for file, want := range map[string]string{"fam.1": "has members", "fam-list.1": "lists"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
}

func TestSingleDash(t *testing.T) {
	c := program(nil)
	require.Equal(t, strings.Fields("--depth 3 --cores=1,2 -d5 --help -- -depth"),
		SingleDash(c, strings.Fields("-depth 3 -cores=1,2 -d5 -help -- -depth")))
}
