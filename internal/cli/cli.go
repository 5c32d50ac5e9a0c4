package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	OK     = 0
	Failed = 1
	Misuse = 2 // invalid command line
)

// ErrReported is the error of a program that has printed why it failed.
var ErrReported = errors.New("failed, as reported")

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

// NoArgs returns a UsageError if there are arguments.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(seeHelp(c, fmt.Errorf("unexpected argument %q", args[0])))
}

// seeHelp adds a reference to the command's help.
func seeHelp(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}

// Run executes a command line on root and returns the exit code. It adds what all programs have:
// --version, shell completion, manual pages, and help that fits the terminal.
func Run(ctx context.Context, root *cobra.Command, out, errs io.Writer, args ...string) int {
	root.SilenceErrors, root.SilenceUsage, root.SuggestionsMinimumDistance = true, true, 2
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usage(seeHelp(c, suggestFlags(err, c.Flags())))
	})
	if root.HasSubCommands() {
		root.Args = knownCommand
		root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	if root.Version == "" {
		root.Version = Version()
	}
	root.SetVersionTemplate("{{.DisplayName}}: {{.Version}}\n")
	fitHelp(root, out)
	var err error
	if len(args) == 2 && args[0] == manualCommand {
		err = writeManual(root, args[1])
	} else {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	return exitCode(ctx, errs, root.Name(), err)
}

// knownCommand returns an error for the name of a subcommand that root does not have.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], root.Name())
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(like, " or "))
	}
	return Usage(seeHelp(root, err))
}

// exitCode prints the error of a program, with a line for each joined error, and returns the
// program's exit code.
func exitCode(ctx context.Context, errs io.Writer, program string, err error) int {
	if err == nil {
		return OK
	}
	signal, interrupted := Interrupted(ctx)
	if interrupted {
		err = signal
	} else if errors.Is(err, ErrReported) {
		return Failed
	}
	name := program + ": " // also the prefix of the errors of a package of that name
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintf(errs, "%s%s\n", name, strings.TrimPrefix(strings.TrimRight(l, "\n"), name))
	}
	switch {
	case interrupted:
		return signal.ExitCode()
	case errors.As(err, &UsageError{}):
		return Misuse
	}
	return Failed
}
