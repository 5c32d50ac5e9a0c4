package sim

import (
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Transfer is a flow in progress or ended.
type Transfer struct {
	workload.Flow
	Conn *Conn      // carries the flow
	Done units.Time // completion time of its last message

	posted      units.Bytes
	outstanding int
	driven      bool // started by Drive
}

// Received returns the payload bytes that the connection has carried so far, for all its flows.
// Network.SampleRate makes a time series of it.
func (c *Conn) Received() uint64 { return c.Remote.Stats().BytesIn }

// Stop ends a flow after the messages that are already posted.
func (f *Transfer) Stop() { f.Bytes = f.posted }

// Drive starts every flow of a source at its time, and calls done, unless nil, at the end of each.
// The times of the flows count from the present.
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

// driver starts the flows of a source.
type driver struct {
	sim      *Simulation
	source   workload.Source
	reactive workload.Reactive // the source, if it is one
	epoch    units.Time
	due      units.Time // time of the pending timer; -1: none, so that there is only one
	ahead    workload.Flow
	have     bool // ahead is valid and waits for its time
}

// next starts the flows whose time has come.
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

// wait arranges for a call of next at a time.
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

// connOf returns an idle connection, or a new one.
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

// startOn posts a flow on an idle connection.
func (s *Simulation) startOn(conn *Conn, f workload.Flow, driven bool) (*Transfer, error) {
	conn.flow = &Transfer{Flow: f, Conn: conn, driven: driven}
	s.running++
	if err := conn.From.post(conn); err != nil {
		return nil, err
	}
	conn.From.Host.Wake()
	return conn.flow, nil
}

// Running returns the number of flows in progress.
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

// ended counts a flow that completed or failed.
func (s *Simulation) ended(f *Transfer) {
	s.running--
	if f.driven {
		s.ofTraffic--
	}
}

// frameOverhead is the length of the headers of a WRITE packet in a Buf: Ethernet, IPv4, UDP, BTH,
// ICRC. The first packet has a RETH as well, and the ACK has an AETH instead.
const (
	frameOverhead = 14 + 20 + 8 + 12 + 4
	rethLen       = 16
	aethLen       = 4
)

// Ideal returns the completion time of the flow alone: the round-trip time of a full packet and its
// ACK, and the serialization of all its payload and headers on the slowest link.
func (s *Simulation) Ideal(f workload.Flow) units.Duration {
	mtu := s.Hosts.PathMTU
	last := min(f.Bytes, mtu)
	rtt := s.Net.BaseRTT(f.Src, f.Dst, last+frameOverhead+rethLen, frameOverhead+aethLen)
	wire := (f.Bytes - last) * (mtu + frameOverhead + onWire) / mtu
	return rtt + s.Net.Bottleneck(f.Src, f.Dst).Duration(wire)
}

// onWire is the length of Ethernet's check sequence, preamble and gap.
const onWire = 24
