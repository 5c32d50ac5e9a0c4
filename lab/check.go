package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/lab/check"
)

func (l *lab) checkCommand() *cobra.Command {
	dir := "docs/lab"
	c := &cobra.Command{
		Use:   "check [PAPER...]",
		Short: "Check that committed results are complete",
		Long: `check reads docs/lab/PAPER/<experiment>/claims.json for every experiment of the papers, or of those
that docs/lab/COMPLETE names. It fails on an experiment or a claim that is missing, on one that the
catalogue does not have, on a claim that failed or was not judged without a note, and on a verdict
that does not follow from its value.`,
		RunE: func(_ *cobra.Command, papers []string) error { return l.check(dir, papers) },
	}
	c.Flags().StringVar(&dir, "dir", dir, "directory of the committed results")
	return c
}

func (l *lab) check(dir string, papers []string) error {
	if len(papers) == 0 {
		var err error
		if papers, err = check.Complete(dir); err != nil {
			return err
		}
	}
	if len(papers) == 0 {
		fmt.Fprintf(l.out, "%s names no papers: nothing to check\n", filepath.Join(dir, "COMPLETE"))
		return nil
	}
	problems := check.Papers(l.Catalogue, dir, papers...)
	for _, p := range problems {
		fmt.Fprintln(l.out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("results of %s: problems: %d", strings.Join(papers, ", "), len(problems))
	}
	fmt.Fprintf(l.out, "results of %s: complete\n", strings.Join(papers, ", "))
	return nil
}
