package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const name = "busyhost"

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, errHelp) {
		fmt.Fprint(out, usage())
		return exitOK
	}
	var cells []cell
	if err == nil {
		cells, err = choose(table(), s.only)
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", name, err)
		return exitUsage
	}
	if s.list {
		list(out, cells)
		return exitOK
	}
	switch err := measure(ctx, s, cells, out, errs); {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintf(errs, "%s: interrupted\n", name)
		return exitInterrupted
	case errors.Is(err, errBars):
		return exitFailed
	default:
		fmt.Fprintf(errs, "%s: %v\n", name, err)
		return exitFailed
	}
}

// helper prints the error of a process started by this program, and returns its exit code.
func helper(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return exitFailed
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
