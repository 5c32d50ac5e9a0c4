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
	"github.com/goroce/goroce/nicoffload/process"
)

// errInterrupted is the cause of an end by signal.
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

// exit ends the process with what run answers, whom a signal interrupts; or does what a child of
// ours does.
func exit(run func(context.Context) int) {
	process.BeChild()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // the second one ends us whatever we do
		cancel(errInterrupted)
	}()
	os.Exit(run(ctx))
}

// Run does a test as its command line says and answers the exit code.
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
		complain(stderr, t.Name(), err)
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
		complain(stderr, t.Name(), errInterrupted)
		return exitInterrupted
	}
	complain(stderr, t.Name(), err)
	return exitFailed
}

// run does a test in the role that its settings give it.
func run(ctx context.Context, s *Settings, c *console) (*session, error) {
	// A polling goroutine never gives its P back: without one more, everything else waits for the
	// scheduler to tear it away, and the measurement with it.
	runtime.GOMAXPROCS(s.cores() + s.agents() + 1)
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
}

// complain prints an error, a line for each of those it joins.
func complain(w io.Writer, name string, err error) {
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "%s: %s\n", name, strings.TrimRight(l, "\n"))
	}
}
