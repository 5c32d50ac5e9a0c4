// Command lab runs the experiments of the catalogue and reports what they say about its claims: see
// --help.
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

// lab is the program: what it knows, and the world it runs in.
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

// run does what a command line says and answers the exit code.
func (l *lab) run(ctx context.Context, args ...string) int {
	return cli.Run(ctx, l.command(), l.out, l.errs, args...)
}

func (l *lab) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments and see what they say about the papers' claims",
		Long: `lab runs the experiments of the catalogue (five papers and our own), judges their claims, and
makes a page of figures and verdicts.

  lab list                        what there is
  lab run 'fabric/*' --out /tmp/lab   simulate, judge, draw
  lab report /tmp/lab             a page to read: /tmp/lab/index.html
  lab check                       are results what the committed verdicts say?

It exits with 0 when all went well, with 1 when something failed or is left to do, and with 2 when
the command line makes no sense.`,
	}
	root.AddCommand(l.listCommand(), l.runCommand(), l.reportCommand(), l.checkCommand())
	return root
}
