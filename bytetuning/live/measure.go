package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/units"
)

// grace is how much later than a poll interval an update may arrive.
const grace = units.Second

// watched is a queue that is measured.
type watched struct {
	collector telemetry.Collector
	readings  int
	newest    units.Time // of the switch's own clock
	arrived   time.Time
}

// Measure implements bytetuning.Target: it waits for the network to settle, then subscribes to each
// watched queue for a period. A queue of which no update arrives for three poll intervals, or whose
// time stamp does not advance, is stale.
func (n *Network) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	if err := n.wait(ctx, n.Fleet.Settle); err != nil {
		return nil, err
	}
	all := make([]map[string]*watched, len(n.Fleet.Switches)) // by interface
	readers := make([]*Reader, len(all))
	for i, s := range n.Fleet.Switches {
		var err error
		if readers[i], err = n.reader(s); err != nil {
			return nil, err
		}
		all[i] = map[string]*watched{}
		for _, iface := range s.Watch {
			all[i][iface] = &watched{collector: telemetry.Collector{
				Source: telemetry.Source{Name: "gnmi", Period: n.Fleet.Poll}}}
		}
	}
	period, cancel := context.WithTimeout(ctx, n.Fleet.Period.Std())
	defer cancel()
	errs := make([]error, len(all))
	var streams sync.WaitGroup
	for i, s := range n.Fleet.Switches {
		streams.Go(func() {
			err := readers[i].Subscribe(period, s.Watch, s.QueueName, n.Fleet.Poll,
				func(iface string, x Reading) { all[i][iface].observe(x, n.now()) })
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.Name, err)
				cancel() // the others need not finish
			}
		})
	}
	streams.Wait()
	if err := errors.Join(errs...); err != nil || ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return n.measurement(all)
}

// observe adds a reading. A time stamp that did not advance is left out.
func (w *watched) observe(x Reading, now time.Time) {
	if w.readings > 0 && !x.At.After(w.newest) {
		return
	}
	w.readings++
	w.newest, w.arrived = x.At, now
	w.collector.Poll(x.At, x.Octets, x.Length)
}

// measurement returns the samples of all queues.
func (n *Network) measurement(all []map[string]*watched) (*bytetuning.Measurement, error) {
	layers := n.Layers()
	m := &bytetuning.Measurement{}
	for i, s := range n.Fleet.Switches {
		for _, iface := range s.Watch {
			w := all[i][iface]
			if silence := units.FromStd(n.now().Sub(w.arrived)); w.readings < 2 ||
				silence > 3*n.Fleet.Poll+grace {
				return nil, fmt.Errorf("live: %s: %s: %d updates with a new time stamp in %v, the "+
					"last %v ago: %w", s.Name, iface, w.readings, n.Fleet.Period, silence,
					bytetuning.ErrTelemetry)
			}
			sample, err := w.collector.Sample(n.Fleet.layer(layers, s.Layer), w.newest,
				n.Fleet.Period)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", s.Name, iface, err)
			}
			m.Switches = append(m.Switches, sample)
		}
	}
	return m, nil
}
