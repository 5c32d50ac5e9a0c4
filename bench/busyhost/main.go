package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

const name = "busyhost"

// errBars is returned if at least one bar was not shown to hold.
var errBars = errors.New("not every bar holds")

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "spin":
			os.Exit(helper(spin(os.Args[2:])))
		case "within":
			os.Exit(helper(within(os.Args[2:])))
		}
	}
	os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	s, w := &settings{}, &words{}
	flags := s.table(w)
	c := &cobra.Command{Use: name + " [flags]", Short: "Measure on a machine with other load",
		Long: synopsis, Args: cli.NoArgs}
	flags.SetHelp(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cells, err := s.settle(c.Flags(), flags)
		switch {
		case err != nil:
			return cli.Usage(err)
		case s.list:
			list(out, cells)
			return nil
		}
		if err = measure(ctx, s, cells, out, errs); errors.Is(err, errBars) {
			return cli.ErrReported
		}
		return err
	}
	return cli.Run(ctx, c, out, errs, args...)
}

// helper prints the error of a process started by this program, and returns its exit code.
func helper(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return cli.Failed
}

// measure measures the cells, prints each row as soon as it is known, and a summary.
func measure(ctx context.Context, s *settings, cells []cell, out, errs io.Writer) (err error) {
	b, err := newBench(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	report := newReport(b)
	if err := report.begin(ctx, out, errs); err != nil {
		return err
	}
	err = b.all(ctx, cells, func(r *result) { report.row(out, r, s.verbose) })
	report.end(out)
	if s.json != "" {
		err = errors.Join(err, report.save(s.json))
	}
	if err == nil && !report.holds() {
		return errBars
	}
	return err
}
