// Command bytetuning finds ECN and PFC watermarks for RoCEv2 switches, checks them, and says them in the words of
// switches: see --help.
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
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a target, a file; or check found something
	exitUsage  = 2
)

// program is what a command line runs in.
type program struct {
	out, errs io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program
	p := &program{os.Stdout, os.Stderr}
	os.Exit(p.run(ctx, os.Args[1:]...))
}

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run does what a command line says and answers the exit code.
func (p *program) run(ctx context.Context, args ...string) int {
	root := p.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(p.errs, "bytetuning: %v\n", err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "bytetuning",
		Short: "Tune ECN and PFC watermarks of RoCEv2 switches",
		Long: `bytetuning finds Kmin, Kmax, Pmax, headroom and alpha that beat what is configured, by simulated
annealing (ByteTuning, IEEE TCC 2025), on a model, a simulated fabric, or switches.

  bytetuning tune --target fabric:2to1 --budget 200 --out /tmp/bt   search; /tmp/bt/report.html
  bytetuning check /tmp/bt/best.yaml                                is it one of the paper's three mistakes?
  bytetuning render --dialect sonic /tmp/bt/best.yaml               as a switch wants it
  bytetuning fluid --flows 8 --start 40G --out /tmp/bt              the model of DCQCN, ECN and PFC

It exits with 0 when all went well, with 1 when something failed or was found, and with 2 when the command line
makes no sense.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(p.out)
	root.SetErr(p.errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(p.tuneCommand(), p.checkCommand(), p.renderCommand(), p.fluidCommand())
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
