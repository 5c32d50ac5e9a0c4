package engine

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/settings"
)

// OpenSettings opens an engine as settings say.
func OpenSettings(s *settings.Settings) (*Engine, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := goroce.Options{Pcap: s.Pcap, EAL: s.EAL}
	var err error
	if o.Addrs, err = s.Addrs(); err != nil {
		return nil, err
	}
	if o.Gateways, err = s.Gateways(); err != nil {
		return nil, err
	}
	if s.Idle != "" {
		if err := o.Idle.Set(s.Idle); err != nil {
			return nil, err
		}
	}
	if s.Verbose != "" {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	wrap, err := s.WrapPort()
	if err != nil {
		return nil, err
	}
	var wrapErr error
	if wrap != nil {
		o.Wrap = func(_ int, p packet.Port) packet.Port {
			wrapped, err := wrap(p)
			if err != nil {
				wrapErr = err
				return p
			}
			return wrapped
		}
	}
	if o.NewAlgorithm, err = algorithms(s); err != nil {
		return nil, err
	}
	e, err := open(s.Port, o, strings.HasPrefix(s.Port, "loop:")) // whose peer is in no process
	if err == nil && wrapErr != nil {
		_ = e.Close()
		return nil, wrapErr
	}
	return e, err
}

// algorithms returns what makes the congestion control of queue pairs, nil for the default. Their
// paths are not known when they are made, so that they have the properties of a data centre's.
func algorithms(s *settings.Settings) (func() cc.Algorithm, error) {
	factory, err := s.Algorithm()
	if factory == nil || err != nil {
		return nil, err
	}
	path := cc.Path{LineRate: 100 * units.Gbps, Guessed: true, BaseRTT: 20 * units.Microsecond,
		Payload: 1024, Signals: cc.SignalDelay}
	if _, err := factory.New(path); err != nil {
		return nil, fmt.Errorf("congestion control %v: %w", factory, err)
	}
	return func() cc.Algorithm {
		a, _ := factory.New(path)
		return a
	}, nil
}

// Linger waits until peers have the last acknowledgements: those of shared memory read them from
// rings that go away with this process.
func (e *Engine) Linger() { time.Sleep(lingerTime) }

const lingerTime = 20 * time.Millisecond
