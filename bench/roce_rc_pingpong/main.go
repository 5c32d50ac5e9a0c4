// Command roce_rc_pingpong bounces SENDs with libibverbs' ibv_rc_pingpong, or with itself, over a
// DPDK port: see --help.
//
// It has that program's flags, handshake (internal/connect/pingpong), traffic and output. A
// [session] is one side: it meets the peer over TCP and brings the queue pair up. Then a [bounce]
// lives on the polling core until every message has come and gone.
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

// errInterrupted is the cause of an end by signal.
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
		signal.Stop(signals) // the second one ends us whatever we do
		cancel(errInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run does what the command line says and answers the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		help(stdout)
		return exitOK
	case err == nil:
		// A polling goroutine never gives its P back: the others need one more.
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
