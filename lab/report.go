package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

func (l *lab) reportCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make a page of results: DIR/index.html",
		Long: `report makes an HTML page of the results in a directory: a summary, the claims with
the paper's values beside ours, and figures that show their values. The page is beside the results,
or in another directory with copies of what it shows. Given several directories (those of shards),
it merges the jobs' records into the first.

Where there are records, it judges the claims and draws the figures again with this program's code;
it simulates nothing. Results that were committed without records are shown as they are.

  lab report docs/lab --out /tmp/report         the committed results: /tmp/report/index.html
  lab report .cache/lab-small                   those of make lab-small`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, dirs []string) error { return l.report(dirs, out) },
	}
	c.Flags().StringVar(&out, "out", "", "directory of the page (default: the first DIR)")
	return c
}

// report writes the page of directories of results.
func (l *lab) report(dirs []string, out string) error {
	if out == "" {
		out = dirs[0]
	}
	page, problems := l.Gather(dirs...)
	if page == nil {
		return problems
	}
	if err := page.Write(out); err != nil {
		return errors.Join(problems, err)
	}
	fmt.Fprintln(l.out, filepath.Join(out, "index.html"))
	return problems
}
