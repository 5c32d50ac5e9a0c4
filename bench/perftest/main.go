package perftest

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/metrics"
	"github.com/goroce/goroce/nicoffload/process"
)

// Main is the main function of a test program.
func Main(v Verb, k Kind) {
	exit(func(ctx context.Context) int {
		return Run(ctx, Test{v, k}, os.Args[1:], os.Stdout, os.Stderr)
	})
}

// exit runs a program with a context that signals end, and exits with the returned code. In a child
// process of nicoffload/process it runs the child instead.
func exit(run func(context.Context) int) {
	process.BeChild()
	os.Exit(run(cli.Interruptible()))
}

// Run runs a test with a command line and returns the exit code.
func Run(ctx context.Context, t Test, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, t.command(), stdout, stderr, args...)
}

// command returns the command line of a test.
func (t Test) command() *cobra.Command {
	s, x := defaults(t), &extras{}
	c := &cobra.Command{
		Use: t.Name() + " [flags] [HOST]", Short: t.what(), Long: t.synopsis(),
		Example: t.examples(), Args: cobra.ArbitraryArgs, Version: cli.Version(eal.Version()),
		RunE: func(c *cobra.Command, args []string) error {
			err := s.settle(c.Flags(), x, args)
			if e, ok := err.(explanation); ok {
				err = e.write(c.OutOrStdout())
			} else if err == nil {
				return s.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
			}
			if err != nil {
				err = cli.Usage(err)
			}
			return err
		},
	}
	s.table(x).SetHelp(c)
	cli.NormalizeFlags(c.Flags())
	return c
}

// explanation is the error of a command line that requests an explanation.
type explanation interface{ write(io.Writer) error }

// run runs the test, and writes the document if one is requested.
func (s *Settings) run(ctx context.Context, stdout, stderr io.Writer) error {
	console := newConsole(s, stdout, stderr)
	for _, sentence := range s.notes {
		console.note("%s", sentence)
	}
	x, err := run(ctx, s, console)
	if s.JSONFile != "" && x != nil && x.report != nil {
		err = errors.Join(err, x.report.save(s.JSONFile, stdout))
	}
	if err == nil {
		err = s.limits(x.rows)
	}
	return err
}

// run performs a test in the role given by its settings.
func run(ctx context.Context, s *Settings, c *console) (*session, error) {
	// A polling goroutine never releases its P. Without one more, other goroutines would depend on
	// preemption, which disturbs the measurement.
	runtime.GOMAXPROCS(s.cores() + s.agents() + 1)
	var err error
	if s.monitor, err = metrics.Start(s.Metrics); err != nil {
		return nil, err
	}
	defer s.monitor.Close()
	return s.withEventLog(c, func() (*session, error) {
		switch {
		case s.inProcess():
			return runInProcess(ctx, s, c)
		case s.CM && s.Host == "":
			return runServerCM(ctx, s, c)
		case s.CM:
			return runClientCM(ctx, s, c)
		case s.Host == "":
			return runServer(ctx, s, c)
		}
		return runClient(ctx, s, c)
	})
}
