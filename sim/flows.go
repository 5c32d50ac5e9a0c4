package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Transfer is a flow in progress, or done.
type Transfer struct {
	workload.Flow
	Conn *Conn      // that carries it
	Done units.Time // when its last message completed

	posted      units.Bytes
	outstanding int
	driven      bool // by Drive
}

// Received returns the payload bytes that the connection has carried so far, for all its flows:
// Network.SampleRate makes a time series of it.
func (c *Conn) Received() uint64 { return c.Remote.Stats().BytesIn }

// Stop ends a flow with the messages that are posted already.
func (f *Transfer) Stop() { f.Bytes = f.posted }

// Drive starts every flow of a source at its time, and calls done, unless it is nil, as each
// ends. The flows' times count from the present.
func (s *Simulation) Drive(source workload.Source, done func(*Transfer)) {
	d := &driver{sim: s, source: source, epoch: s.Net.Now(), due: -1}
	d.reactive, _ = source.(workload.Reactive)
	s.exhausted = false
	s.done = func(f *Transfer) {
		if !f.driven {
			return
		}
		if done != nil {
			done(f)
		}
		if d.reactive != nil {
			d.reactive.Done(f.Flow, units.Time(s.Net.Now().Sub(d.epoch)))
			d.next()
		}
	}
	d.next()
}

// driver takes flows from a source.
type driver struct {
	sim      *Simulation
	source   workload.Source
	reactive workload.Reactive // the source, if it is one
	epoch    units.Time
	due      units.Time // of the pending timer; -1: none, so that there is only one
	ahead    workload.Flow
	have     bool // ahead waits for its time
}

// next begins the flows whose time has come.
func (d *driver) next() {
	for {
		at, ok := d.peek()
		if !ok {
			d.sim.exhausted = d.reactive == nil || !d.reactive.Pending()
			return
		}
		if d.epoch.Add(units.Duration(at)).After(d.sim.Net.Now()) {
			d.wait(at)
			return
		}
		f := d.ahead
		if d.reactive != nil {
			f, _ = d.reactive.Next()
		}
		d.have = false
		_, err := d.sim.start(f, true)
		d.sim.note(err)
	}
}

// peek returns the time of the next flow.
func (d *driver) peek() (units.Time, bool) {
	if d.reactive != nil {
		return d.reactive.Peek()
	}
	if !d.have {
		d.ahead, d.have = d.source.Next()
	}
	return d.ahead.At, d.have
}

// wait calls next at a time.
func (d *driver) wait(at units.Time) {
	if at == d.due {
		return
	}
	d.due = at
	d.sim.Net.At(d.epoch.Add(units.Duration(at)), func() {
		if at == d.due {
			d.due = -1
		}
		d.next()
	})
}

// Start posts a flow now.
func (s *Simulation) Start(f workload.Flow) (*Transfer, error) { return s.start(f, false) }

func (s *Simulation) start(f workload.Flow, driven bool) (*Transfer, error) {
	conn, err := s.connOf(f, driven)
	if err != nil {
		return nil, err
	}
	if driven {
		s.ofTraffic++
	}
	return s.startOn(conn, f, driven)
}

// connOf returns a connection that is idle, or a new one.
func (s *Simulation) connOf(f workload.Flow, driven bool) (*Conn, error) {
	if s.Scheme.PerFlow != nil {
		service, err := s.Scheme.PerFlow(s, f)
		if err != nil {
			return nil, err
		}
		conn, err := s.connect(s.pair(f.Src, f.Dst), service)
		if err == nil {
			conn.ownFlow = true
		}
		return conn, err
	}
	n := s.Nodes[f.Src]
	if free := n.idle[f.Dst]; len(free) > 0 {
		n.idle[f.Dst] = free[:len(free)-1]
		return free[len(free)-1], nil
	}
	return s.Connect(f.Src, f.Dst)
}

// startOn posts a flow on a connection that is idle.
func (s *Simulation) startOn(conn *Conn, f workload.Flow, driven bool) (*Transfer, error) {
	conn.flow = &Transfer{Flow: f, Conn: conn, driven: driven}
	s.running++
	if err := conn.From.post(conn); err != nil {
		return nil, err
	}
	conn.From.Host.Wake()
	return conn.flow, nil
}

// Finish lets time pass until over returns true, which it calls every 20 µs. It returns an error
// if the context ends, a flow fails, the network's books do not balance, or it takes longer than
// the longest time.
func (s *Simulation) Finish(
	ctx context.Context, longest units.Duration, over func(now units.Time) bool,
) error {
	begin, done, asks := s.Net.Now(), false, true
	s.Net.Every(20*units.Microsecond, func(now units.Time) bool {
		if !asks { // any more
			return false
		}
		done = over(now)
		if done || ctx.Err() != nil || len(s.Errors) > 0 {
			s.Net.Stop()
		}
		return true
	})
	err := s.Net.Run(begin.Add(longest))
	asks = false
	switch {
	case err != nil && !errors.Is(err, fabric.ErrStopped):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(s.Errors) > 0:
		return fmt.Errorf("%d flows failed, the first: %w", len(s.Errors), s.Errors[0])
	case !done:
		return fmt.Errorf("sim: not over after %v, %d flows run", longest, s.running)
	}
	return nil
}

// Running returns how many flows have begun and not ended.
func (s *Simulation) Running() int { return s.running }

func (s *Simulation) finished(f *Transfer) {
	s.ended(f)
	if s.done != nil {
		s.done(f)
	}
}

func (s *Simulation) failed(conn *Conn, err error) {
	s.note(err)
	s.ended(conn.flow)
	conn.flow = nil
}

// ended counts a flow that has ended, one way or the other.
func (s *Simulation) ended(f *Transfer) {
	s.running--
	if f.driven {
		s.ofTraffic--
	}
}

// Ideal returns how long the flow would take alone: a full packet to the other host and its ACK
// back, and all its payload at the slowest link, with the headers that go with it.
func (s *Simulation) Ideal(f workload.Flow) units.Duration {
	mtu := s.Hosts.PathMTU
	last := min(f.Bytes, mtu)
	rtt := s.Net.BaseRTT(f.Src, f.Dst, last+dataOverhead+wire.RETHLen, ackLen)
	rest := (f.Bytes - last) * (mtu + Overhead) / mtu
	return rtt + s.Net.Bottleneck(f.Src, f.Dst).Duration(rest)
}

// onWire is Ethernet's check sequence, preamble and gap.
const onWire = 24
