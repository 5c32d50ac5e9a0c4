package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Signal is the cause of a context that a signal ended.
type Signal struct{ syscall.Signal }

func (s Signal) Error() string {
	if s.Signal == syscall.SIGTERM {
		return "interrupted by SIGTERM"
	}
	return "interrupted"
}

// ExitCode returns the code with which a shell reports a process that the signal ended: 130 for
// SIGINT, 143 for SIGTERM.
func (s Signal) ExitCode() int { return 128 + int(s.Signal) }

// Interrupted returns the signal that ended ctx, if one did.
func Interrupted(ctx context.Context) (Signal, bool) {
	var s Signal
	ok := errors.As(context.Cause(ctx), &s)
	return s, ok
}

// Interruptible returns a context that ends at the first SIGINT or SIGTERM, with a Signal as its
// cause. A second one ends the program.
func Interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(Signal{s.(syscall.Signal)})
	}()
	return ctx
}
