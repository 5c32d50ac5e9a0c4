package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
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
			if c.HasSubCommands() {
				return Usage(seeHelp(c, err))
			}
			return Usage(seeHelp(c, fmt.Errorf("%w, want %s", err, c.UseLine())))
		}
		return nil
	}
}

// seeHelp adds a reference to the command's help.
func seeHelp(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
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
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usage(seeHelp(c, err))
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	name := root.Name() + ": " // also the prefix of the errors of a package of that name
	fmt.Fprintf(errs, "%s%s\n", name, strings.TrimPrefix(err.Error(), name))
	if errors.As(err, &UsageError{}) {
		return Misuse
	}
	return Failed
}
