package sim

import (
	"context"

	"github.com/goroce/goroce/trace"
)

type traceKey struct{}

// WithTrace returns a context in which Scenario.Run records into log, if the scenario has no log of
// its own.
func WithTrace(ctx context.Context, log trace.Log) context.Context {
	return context.WithValue(ctx, traceKey{}, log)
}

// traceOf returns the log of a context, nil if it has none.
func traceOf(ctx context.Context) trace.Log {
	log, _ := ctx.Value(traceKey{}).(trace.Log)
	return log
}
