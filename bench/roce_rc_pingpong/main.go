// Command roce_rc_pingpong exchanges SENDs with libibverbs' ibv_rc_pingpong, or with itself, over a
// DPDK port: see --help.
//
// It has ibv_rc_pingpong's flags, handshake (internal/connect/pingpong), traffic and output. A
// [session] is one end: it performs the handshake over TCP and connects the queue pair. Then a
// [bounce] runs on the polling core until all messages are exchanged.
package main

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
)

const name = "roce_rc_pingpong"

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second signal ends the process at once
		cancel(errInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		help(stdout)
		return exitOK
	case err == nil:
		// A polling goroutine never releases its P; the other goroutines need another.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), s.cores()+1))
		err = s.run(ctx, stdout, stderr)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		fmt.Fprintf(stderr, "%s: %v\n", name, errInterrupted)
		return exitInterrupted
	}
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "%s: %s\n", name, strings.TrimRight(l, "\n"))
	}
	return exitFailed
}
