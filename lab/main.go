// Command lab runs the experiments of the catalogue and judges the catalogue's claims: see --help.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/report"
)

// lab is the program: its catalogue, its experiments, its output and its environment.
type lab struct {
	report.Lab
	getenv func(string) string
	out    io.Writer
	errs   io.Writer
}

func main() {
	catalogue, err := claims.Load()
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab: %v\n", err)
		os.Exit(cli.Failed)
	}
	l := &lab{report.Lab{Catalogue: catalogue, Experiments: experiments()}, os.Getenv, os.Stdout,
		os.Stderr}
	os.Exit(l.run(cli.Interruptible(), os.Args[1:]...))
}

// run runs a command line and returns the exit code.
func (l *lab) run(ctx context.Context, args ...string) int {
	return cli.Run(ctx, l.command(), l.out, l.errs, args...)
}

func (l *lab) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments and judge the papers' claims",
		Long: `lab runs the experiments of the catalogue (five papers and our own), judges their
claims, and makes a page of figures and verdicts.

  lab list                            list the experiments
  lab run 'fabric/*' --out /tmp/lab   simulate, judge, draw
  lab report /tmp/lab                 make a page: /tmp/lab/index.html
  lab check                           compare results with the committed verdicts

The exit code is 0 on success, 1 if something failed or is left to do, and 2 if the command line is
invalid.`,
	}
	root.AddCommand(l.listCommand(), l.runCommand(), l.reportCommand(), l.checkCommand())
	return root
}
