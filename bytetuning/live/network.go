package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/units"
)

// Network is a fleet as a bytetuning.Target. Every point that it applies is on trial: the switches
// go back to their configurations before, unless Confirm is called in time.
type Network struct {
	Fleet *Fleet
	Space bytetuning.Space
	Saved string // directory for the configurations before the first change

	dial func(ctx context.Context, s SSH) (Console, error)
	read func(g GNMI) (*Reader, error)
	wait func(ctx context.Context, d units.Duration) error
	now  func() time.Time

	saved   bool
	readers map[string]*Reader
	trials  map[string]trial // by the switch's name
}

// New returns a fleet as a target. saved is a directory for the configurations before the first
// change.
func New(f *Fleet, space bytetuning.Space, saved string) *Network {
	return &Network{Fleet: f, Space: space, Saved: saved, dial: Dial, read: NewReader, wait: sleep,
		now: time.Now, readers: map[string]*Reader{}, trials: map[string]trial{}}
}

func sleep(ctx context.Context, d units.Duration) error {
	t := time.NewTimer(d.Std())
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Close closes the connections.
func (n *Network) Close() error {
	var errs []error
	for _, r := range n.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Layers implements bytetuning.Target.
func (n *Network) Layers() []bytetuning.Layer { return n.Fleet.Layers(n.Space) }

// Apply implements bytetuning.Target. It renders all configurations and saves the existing ones
// before it enters any. It ends the trial of the point before. After an error it ends its own.
func (n *Network) Apply(ctx context.Context, p bytetuning.Point) error {
	layers := n.Layers()
	if len(p) != len(layers) {
		return p.Check(layers)
	}
	rendered := make([]*dialect.Rendering, len(n.Fleet.Switches))
	for i, s := range n.Fleet.Switches {
		r, err := s.Dialect.Render(s.intent(p[n.Fleet.layer(layers, s.Layer)]), dialect.Options{})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		rendered[i] = r
	}
	if err := n.Save(ctx); err != nil {
		return err
	}
	if err := n.Revert(ctx); err != nil {
		return err
	}
	for i, s := range n.Fleet.Switches {
		if err := n.try(ctx, s, rendered[i]); err != nil {
			return errors.Join(fmt.Errorf("live: %s, after %d of %d switches: %w", s.Name, i,
				len(n.Fleet.Switches), err), n.Revert(context.WithoutCancel(ctx)))
		}
	}
	return nil
}

// with calls f with a connection to a switch's configuration.
func (n *Network) with(ctx context.Context, s *Switch, f func(configurator) error) error {
	if s.Apply == "gnmi" {
		r, err := n.reader(s)
		if err != nil {
			return err
		}
		return f(configDB{r}) // closed by Close
	}
	c, err := n.dial(ctx, s.SSH)
	if err != nil {
		return err
	}
	return errors.Join(f(shell{c, s.Dialect.Name}), c.Close())
}

// configurator saves and changes a switch's configuration.
type configurator interface {
	save(ctx context.Context) ([]byte, error)
	// enter changes it permanently, try for a limited time.
	enter(ctx context.Context, config string) error
	try(ctx context.Context, c change, limit units.Duration) error
	confirm(ctx context.Context) error
	revert(ctx context.Context, c change) error
}

// Save saves the configuration of every switch, unless this Network or an earlier one did.
func (n *Network) Save(ctx context.Context) error {
	if n.saved {
		return nil
	}
	if err := os.MkdirAll(n.Saved, 0o700); err != nil {
		return err
	}
	for _, s := range n.Fleet.Switches {
		file := n.file(s)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		err := n.with(ctx, s, func(d configurator) error {
			config, err := d.save(ctx)
			if err == nil && len(config) == 0 {
				err = errors.New("the configuration is empty")
			}
			if err != nil {
				return err
			}
			part := file + ".part"
			if err := os.WriteFile(part, config, 0o600); err != nil {
				return err
			}
			return os.Rename(part, file)
		})
		if err != nil {
			return fmt.Errorf("live: %s: the configuration could not be saved, and nothing was "+
				"changed: %w", s.Name, err)
		}
	}
	n.saved = true
	return nil
}

func (n *Network) file(s *Switch) string { return filepath.Join(n.Saved, s.Name+".saved") }

// Rollback restores the saved configurations, permanently: on SONiC it loads them, elsewhere it
// enters the undo of ours and the saved lines that ours replaced. It continues after an error and
// returns all errors.
func (n *Network) Rollback(ctx context.Context) error {
	var errs []error
	// Undo does not depend on the watermark; any chip accepts this one.
	w := bytetuning.Watermark{Kmin: 1000, Kmax: 4000, Pmax: 1, Alpha: bytetuning.MaxAlpha}
	for _, s := range n.Fleet.Switches {
		r, err := s.Dialect.Render(s.intent(w), dialect.Options{})
		var c change
		if err == nil {
			c, err = n.changeOf(s, r)
		}
		if err == nil {
			err = n.with(ctx, s, func(d configurator) error { return d.enter(ctx, c.undo) })
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("live: %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (n *Network) reader(s *Switch) (*Reader, error) {
	if r := n.readers[s.Name]; r != nil {
		return r, nil
	}
	r, err := n.read(s.GNMI)
	if err == nil {
		n.readers[s.Name] = r
	}
	return r, err
}
