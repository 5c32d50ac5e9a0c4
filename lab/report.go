package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

func (l *lab) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIR...",
		Short: "Make a page of results: DIR/index.html",
		Long: `report makes one HTML page of the results in a directory: figures, and the claims
with the paper's values beside ours. The page needs no other file. Given several directories (those
of shards), it merges the jobs' records into the first and puts the page there.

Where there are records, it judges the claims and draws the figures again with this program's code;
it simulates nothing. Results that were committed without records are shown as they are.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, dirs []string) error { return l.report(dirs) },
	}
}

func (l *lab) report(dirs []string) error {
	page, problems := l.Gather(dirs...)
	if page == nil {
		return problems
	}
	var b bytes.Buffer
	path := filepath.Join(dirs[0], "index.html")
	err := page.WriteHTML(&b)
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		return errors.Join(problems, err)
	}
	fmt.Fprintln(l.out, path)
	return problems
}
