package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/metrics"
	"github.com/goroce/goroce/nicoffload/process"
)

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
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
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second signal ends the process at once
		cancel(errInterrupted)
	}()
	os.Exit(run(ctx))
}

// Run runs a test with a command line and returns the exit code.
func Run(ctx context.Context, t Test, args []string, stdout, stderr io.Writer) int {
	s, err := parse(t, args)
	switch {
	case errors.Is(err, errHelp):
		help(stdout, t)
		return exitOK
	case errors.As(err, new(ccHelp)):
		return explain(stdout, stderr, t, err)
	case errors.As(err, new(channelsHelp)):
		err.(channelsHelp).write(stdout)
		return exitOK
	case errors.As(err, new(admissionHelp)):
		err.(admissionHelp).write(stdout)
		return exitOK
	case errors.Is(err, errVersion):
		fmt.Fprintf(stdout, "%s: goroce %s, %s, %s\n", t.Name(), version(), eal.Version(),
			runtime.Version())
		return exitOK
	case err != nil:
		printError(stderr, t.Name(), err)
		return exitFailed
	}
	x, err := run(ctx, s, newConsole(s, stdout, stderr))
	if err == nil && s.JSONFile != "" {
		err = x.report.save(s.JSONFile, stdout)
	}
	if err == nil {
		err = s.limits(x.rows)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		printError(stderr, t.Name(), errInterrupted)
		return exitInterrupted
	}
	printError(stderr, t.Name(), err)
	return exitFailed
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

// printError prints an error, with a line for each joined error.
func printError(w io.Writer, name string, err error) {
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "%s: %s\n", name, strings.TrimRight(l, "\n"))
	}
}
