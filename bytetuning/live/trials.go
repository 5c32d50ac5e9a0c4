package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goroce/goroce/bytetuning/dialect"
)

// trial is a change that a switch undoes itself unless it is confirmed before end.
type trial struct {
	change change
	end    time.Time
}

// try takes a rendering on trial at a switch.
func (n *Network) try(ctx context.Context, s *Switch, r *dialect.Rendering) error {
	c, err := n.changeOf(s, r)
	if err != nil {
		return err
	}
	// From here on the switch may have a part of the change.
	n.trials[s.Name] = trial{c, n.now().Add(n.Fleet.Confirm.Std())}
	return n.with(ctx, s, func(d configurator) error {
		return d.try(ctx, c, n.Fleet.Confirm)
	})
}

// changeOf returns a rendering as a change, with the lines that restore the saved configuration.
func (n *Network) changeOf(s *Switch, r *dialect.Rendering) (change, error) {
	saved, err := os.ReadFile(n.file(s))
	if err != nil {
		return change{}, err
	}
	undo := string(saved)
	if s.Dialect.Name != "sonic" {
		undo = r.Undo + r.Restore(undo)
	}
	return change{r.Config, undo}, nil
}

// Confirm makes the point on trial permanent. A switch that does not confirm it, or whose trial is
// over, goes back to its configuration before by itself, and is an error.
func (n *Network) Confirm(ctx context.Context) error {
	var errs []error
	for _, s := range n.Fleet.Switches {
		t, ok := n.trials[s.Name]
		if !ok {
			continue
		}
		var err error
		if !n.now().Before(t.end) {
			err = fmt.Errorf("the trial of %v is over, and the switch has gone back",
				n.Fleet.Confirm)
		} else {
			err = n.with(ctx, s, func(d configurator) error { return d.confirm(ctx) })
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("live: %s: not confirmed: %w", s.Name, err))
			continue
		}
		delete(n.trials, s.Name)
	}
	return errors.Join(errs...)
}

// Revert ends all trials: the switches restore their configurations before them. It continues after
// an error and returns all errors. A switch that cannot be reached reverts when its trial is over.
func (n *Network) Revert(ctx context.Context) error {
	var errs []error
	for _, s := range n.Fleet.Switches {
		t, ok := n.trials[s.Name]
		if !ok {
			continue
		}
		left := t.end.Sub(n.now())
		if left > 0 {
			err := n.with(ctx, s, func(d configurator) error { return d.revert(ctx, t.change) })
			if err != nil {
				errs = append(errs, fmt.Errorf("live: %s: it goes back by itself in %v: %w",
					s.Name, left.Round(time.Second), err))
				continue
			}
		}
		delete(n.trials, s.Name)
	}
	return errors.Join(errs...)
}
