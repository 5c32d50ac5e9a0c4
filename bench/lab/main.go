// Command lab runs the experiments of the catalogue and reports what they say about its claims: see
// --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/report"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a job, a check; or something is left to do
	exitUsage  = 2
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
		os.Exit(exitFailed)
	}
	l := &lab{report.Lab{Catalogue: catalogue, Experiments: experiments()}, os.Getenv, os.Stdout, os.Stderr}
	os.Exit(l.run(interruptible(), os.Args[1:]...))
}

// interruptible answers a context that ends with the first signal. The second one ends the program.
func interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// usageError is a command line that cannot be meant.
type usageError struct{ error }

// run does what a command line says and answers the exit code.
func (l *lab) run(ctx context.Context, args ...string) int {
	root := l.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(l.errs, "lab: %v\n", err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
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
  lab check                       are the committed results complete?

It exits with 0 when all went well, with 1 when something failed or is left to do, and with 2 when
the command line makes no sense.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(l.out)
	root.SetErr(l.errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(l.listCommand(), l.runCommand(), l.reportCommand(), l.checkCommand())
	return root
}

// usage makes the errors of a check of arguments usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
}
