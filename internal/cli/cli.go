package cli

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
	OK     = 0
	Failed = 1
	Misuse = 2 // a command line that cannot be meant
)

// UsageError is a command line that cannot be meant.
type UsageError struct{ error }

// Unwrap answers what is wrong with it.
func (e UsageError) Unwrap() error { return e.error }

// Usage makes an error one of the command line.
func Usage(err error) error { return UsageError{err} }

// Args makes the errors of a check of arguments errors of the command line.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return Usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
		}
		return nil
	}
}

// Interruptible answers a context that ends with the first signal. The second one ends the program.
func Interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Run does what a command line says to root, which has only subcommands to do, and answers the exit
// code.
func Run(ctx context.Context, root *cobra.Command, out, errs io.Writer, args ...string) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = Args(cobra.NoArgs)
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	fmt.Fprintf(errs, "%s: %v\n", root.Name(), err)
	if errors.As(err, &UsageError{}) {
		return Misuse
	}
	return Failed
}
