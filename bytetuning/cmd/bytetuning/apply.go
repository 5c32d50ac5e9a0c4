package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/live"
)

// trials are switches that keep a point only when it is confirmed (live.Network).
type trials interface {
	bytetuning.Target
	Confirm(ctx context.Context) error
	Revert(ctx context.Context) error
}

// finish confirms the best point on switches, or ends its trial, so that they go back to their
// configuration before the search. The point is confirmed if the search ended as planned, the point
// is better than the start, and so is one more measurement of it.
func (p *program) finish(ctx context.Context, n trials, o *bytetuning.Objective,
	out *bytetuning.Outcome, failed error) error {
	why, err := "", error(nil)
	switch {
	case ctx.Err() != nil:
		why = "interrupted"
	case failed != nil || out == nil:
		why = "the search failed"
	case out.Best.Equal(out.Start):
		why = "nothing was better than the start"
	default:
		if err = verify(ctx, n, o, out); err == nil {
			if err = n.Confirm(ctx); err == nil {
				fmt.Fprintln(p.out, "confirmed  the switches keep the best point")
				return nil
			}
		}
		why = "the best point is not kept"
	}
	fmt.Fprintf(p.out, "reverted   %s: the switches go back to their configuration before\n", why)
	return errors.Join(err, n.Revert(context.WithoutCancel(ctx)))
}

// verify measures the best point once more. It returns an error if that is worse than the start.
func verify(ctx context.Context, n trials, o *bytetuning.Objective,
	out *bytetuning.Outcome) error {
	m, err := n.Measure(ctx)
	if err == nil {
		err = m.Validate(len(n.Layers()))
	}
	if err != nil {
		return fmt.Errorf("the best point could not be measured again: %w", err)
	}
	o.Observe(m)
	if o.Energy(m) < o.Energy(out.StartMeasurement) {
		return fmt.Errorf("measured again, the best point is worse than the start: %s",
			performance(m))
	}
	return nil
}

// rollback restores the configurations that an earlier run saved.
func (p *program) rollback(ctx context.Context, t *tuning, n *live.Network) error {
	if t.dryRun {
		fmt.Fprintf(p.out, "would restore the configurations in %s\n", n.Saved)
		return nil
	}
	return n.Rollback(ctx)
}
