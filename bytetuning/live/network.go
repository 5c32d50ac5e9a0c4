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
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/units"
)

// Network is a fleet as a bytetuning.Target.
type Network struct {
	Fleet *Fleet
	Space bytetuning.Space
	Saved string // directory for the configurations before the first change

	dial func(ctx context.Context, s SSH) (Console, error)
	read func(g GNMI) (*Reader, error)
	wait func(ctx context.Context, d units.Duration) error

	saved   bool
	readers map[string]*Reader
}

// New returns a fleet as a target. saved is a directory for the configurations before the first
// change.
func New(f *Fleet, space bytetuning.Space, saved string) *Network {
	return &Network{Fleet: f, Space: space, Saved: saved, dial: Dial, read: NewReader, wait: sleep,
		readers: map[string]*Reader{}}
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
// before it enters any.
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
	for i, s := range n.Fleet.Switches {
		if err := n.with(ctx, s, func(d configurator) error {
			return d.enter(ctx, rendered[i].Config)
		}); err != nil {
			return fmt.Errorf("live: %s, after %d of %d switches: %w", s.Name, i,
				len(n.Fleet.Switches), err)
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
	enter(ctx context.Context, config string) error
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

// Rollback restores the saved configurations: on SONiC it loads them, elsewhere it enters the undo
// of ours and the saved lines that ours replaced. It continues after an error and returns all
// errors.
func (n *Network) Rollback(ctx context.Context) error {
	var errs []error
	for _, s := range n.Fleet.Switches {
		saved, err := os.ReadFile(n.file(s))
		if err == nil {
			text := string(saved)
			if s.Dialect.Name != "sonic" {
				var r *dialect.Rendering
				// Undo does not depend on the watermark; any chip accepts this one.
				w := bytetuning.Watermark{Kmin: 1000, Kmax: 4000, Pmax: 1,
					Alpha: bytetuning.MaxAlpha}
				if r, err = s.Dialect.Render(s.intent(w), dialect.Options{}); err == nil {
					text = r.Undo + r.Restore(text)
				}
			}
			if err == nil {
				err = n.with(ctx, s, func(d configurator) error { return d.enter(ctx, text) })
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("live: %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Measure implements bytetuning.Target: it waits for the network to settle, then polls each watched
// queue for a period. A switch whose time stamp does not advance is stale.
func (n *Network) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	if err := n.wait(ctx, n.Fleet.Settle); err != nil {
		return nil, err
	}
	layers := n.Layers()
	type watched struct {
		s         *Switch
		iface     string
		collector telemetry.Collector
		newest    units.Time
	}
	var all []*watched
	for _, s := range n.Fleet.Switches {
		for _, iface := range s.Watch {
			all = append(all, &watched{s: s, iface: iface, collector: telemetry.Collector{
				Source: telemetry.Source{Name: "gnmi", Period: n.Fleet.Poll},
			}})
		}
	}
	polls := int(n.Fleet.Period / n.Fleet.Poll)
	for i := range polls + 1 {
		if i > 0 {
			if err := n.wait(ctx, n.Fleet.Poll); err != nil {
				return nil, err
			}
		}
		for _, w := range all {
			r, err := n.reader(w.s)
			if err != nil {
				return nil, err
			}
			reading, err := r.Read(ctx, w.iface, w.s.QueueName)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.s.Name, err)
			}
			if i > 0 && !reading.At.After(w.newest) {
				return nil, fmt.Errorf("live: %s: %s: time stamp did not advance in %v: %w",
					w.s.Name, w.iface, n.Fleet.Poll, bytetuning.ErrTelemetry)
			}
			w.newest = reading.At
			w.collector.Poll(reading.At, reading.Octets, reading.Length)
		}
	}
	m := &bytetuning.Measurement{}
	for _, w := range all {
		sample, err := w.collector.Sample(n.Fleet.layer(layers, w.s.Layer), w.newest,
			n.Fleet.Period)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", w.s.Name, w.iface, err)
		}
		m.Switches = append(m.Switches, sample)
	}
	return m, nil
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
