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
	Misuse = 2 // invalid command line
)

// UsageError reports an invalid command line.
type UsageError struct{ error }

// Unwrap returns the underlying error.
func (e UsageError) Unwrap() error { return e.error }

// Usage returns err as a UsageError.
func Usage(err error) error { return UsageError{err} }

// Args returns check with its errors as UsageErrors.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return Usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
		}
		return nil
	}
}

// Interruptible returns a context that ends at the first SIGINT or SIGTERM. A second one ends the
// program.
func Interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Run executes a command line on root, which has only subcommands, and returns the exit code.
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
