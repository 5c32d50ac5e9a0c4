package carclab

import (
	"context"
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// testbed is a star of hosts that send messages to the last one, all the time, over the transport;
// a program there consumes them, one after the other.
type testbed struct {
	senders int
	rate    units.BitRate  // of links
	baseRTT units.Duration // of a full packet
	message units.Bytes
	deep    int // messages that a connection has posted at most
	seed    uint64
	queues  fabric.Queues
	mtu     units.Bytes

	control  func(sender int) cc.Factory // nil: a window that never closes
	around   func(a cc.Algorithm)        // is told of each
	admit    func(sender int, path cc.Path) (cc.Gate, cc.Granter, error)
	credits  *carc.Spec // nil: none
	share    func(sender int) carc.Share
	silent   int // connections that share the cache and send nothing
	compute  func(host int, now units.Time) (cc.Controller, error)
	response units.Bytes // of the program to each message; 0 none

	v2 func(at units.Duration) units.BitRate // of the program, when it finds all in the cache
	// what a line that it does not find costs it besides
	miss  units.Duration
	cache *hostmodel.CacheConfig              // nil: it finds all
	order hostmodel.Order                     // of receive buffers
	done  func(sender int, bytes units.Bytes) // is told of what is consumed; nil for nobody

	start       func(sender int) units.Duration // after zero; nil: at once
	stop, until units.Duration                  // of the senders, 0 never; of the run
	// what one more host sends to the same one, into memory that nobody reads, and when
	cross    units.BitRate
	crossing []span
	watch    []func() // called at zero

	*sim.Simulation // from zero on
	endpoint        *carc.Endpoint
	gates           map[int]*carc.Gate // by sender
	grants          map[int]*carc.Granter
}

// span is from one time after zero to another.
type span struct{ from, until units.Duration }

// nobody drives a silent connection.
type nobody struct{}

func (nobody) Report(*cc.Event, units.Time) {}
func (nobody) Reschedule()                  {}

// always is a program whose rate does not change.
func always(rate units.BitRate) func(units.Duration) units.BitRate {
	return func(units.Duration) units.BitRate { return rate }
}

// packetWire is what a packet has besides payload, with its CRC, preamble and gap.
const packetWire = 14 + 20 + 8 + 12 + 16 + 4 + 24

// run simulates until the end.
func (b *testbed) run(ctx context.Context) error {
	if b.mtu == 0 {
		b.mtu = 4 * units.KiB
	}
	scheme, err := b.scheme()
	if err != nil {
		return err
	}
	hosts := b.senders + 1
	if b.cross > 0 {
		hosts++
	}
	delay := (b.baseRTT - b.rate.Duration(2*(b.mtu+packetWire)) - b.rate.Duration(2*86)) / 4
	_, err = sim.Scenario{
		Topology: sim.Star(hosts, fabric.Link{Rate: b.rate, Delay: delay}),
		Hosts: sim.Hosts{Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: b.mtu,
			Timeout: 12},
		Scheme:   scheme,
		Workload: b.workload(),
		Probes: sim.Probes{Attach: func(s *sim.Simulation) {
			b.Simulation = s
			for _, f := range b.watch {
				f()
			}
		}},
		Seed:  b.seed,
		Until: b.until,
	}.Run(ctx)
	return err
}

// workload is what the hosts send, and the program that consumes it.
func (b *testbed) workload() (w sim.Workload) {
	p := sim.Program{Host: b.senders, RateAt: b.v2, Cache: b.cache, Miss: b.miss, Order: b.order,
		Reply: b.response}
	if b.done != nil {
		p.Done = func(m *sim.MessageLog) { b.done(m.From, m.Bytes) }
	}
	w.Programs = []sim.Program{p}
	for i := range b.senders {
		m := sim.Messages{From: i, To: b.senders, Bytes: b.message, Depth: b.deep, Stop: b.stop}
		if b.start != nil {
			m.Start = b.start(i)
		}
		w.Messages = append(w.Messages, m)
	}
	for _, c := range b.crossing { // 3 MiB: more than queues
		w.Requests = append(w.Requests, sim.Requests{From: b.senders + 1, To: b.senders,
			Bytes: 64 * units.KiB, Depth: 48, Start: c.from, Stop: c.until})
	}
	return w
}

// scheme is what controls the messages, and the traffic beside them.
func (b *testbed) scheme() (s sim.Scheme, err error) {
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return s, err
	}
	crossing, err := cc.Parse(fmt.Sprintf("fixed:window=1GB,rate=%dMbps",
		max(1, b.cross/units.Mbps)))
	if err != nil {
		return s, err
	}
	s = sim.Scheme{
		Switch:    fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: b.queues.At(), INT: true},
		Selective: true, AnswerClass: 56 << 2, TrafficClass: 2, Controller: b.compute,
		Of: func(p sim.Pair, s *sim.Service) {
			s.Control = open
			if p.From > b.senders {
				s.Control, s.Admit, s.Credits = crossing, nil, nil
			} else if b.control != nil {
				s.Control = b.control(p.From)
			}
			if b.around != nil {
				s.Control = sim.Watched(s.Control, func(a cc.Algorithm) cc.Algorithm {
					b.around(a)
					return a
				})
			}
		},
	}
	if b.admit != nil {
		s.Admit = func(p sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
			return b.admit(p.From, path)
		}
	}
	if b.credits != nil {
		s.Credits, err = b.lines()
	}
	return s, err
}

// lines is the credits of connections, of which the silent ones are the first.
func (b *testbed) lines() (sim.Crediting, error) {
	b.endpoint = b.credits.Endpoint()
	b.gates, b.grants = map[int]*carc.Gate{}, map[int]*carc.Granter{}
	for range b.silent {
		_, g, err := b.endpoint.New(cc.Path{LineRate: b.rate, BaseRTT: b.baseRTT, Payload: b.mtu})
		if err != nil {
			return nil, err
		}
		g.Attach(nobody{})
	}
	return func(p sim.Pair, path cc.Path) (cc.CreditGate, cc.CreditGranter, error) {
		share := carc.Share{}
		if b.share != nil {
			share = b.share(p.From)
		}
		gate, granter, err := b.endpoint.NewShare(path, share)
		b.gates[p.From], b.grants[p.From] = gate, granter
		return gate, granter, err
	}, nil
}

// at has something happen at a time after zero.
func (b *testbed) at(d units.Duration, do func()) { b.Net.At(b.Zero().Add(d), do) }

// between has something looked at at equal intervals.
func (b *testbed) between(s span, each units.Duration, do func()) {
	for at := s.from; at < s.until; at += each {
		b.at(at, do)
	}
}

// idled is how long the program had nothing to do so far.
func (b *testbed) idled() units.Duration { return b.Result().Programs[0].Idle() }

// unfinished is how many connections have messages that the program has not consumed.
func (b *testbed) unfinished() (n int) {
	for _, m := range b.Result().Messages {
		if m.Posted != m.Consumed {
			n++
		}
	}
	return n
}

// Bytes of a connection.
func delivered(m *sim.MessageLog) uint64 { return m.Delivered }
func consumed(m *sim.MessageLog) uint64  { return m.Consumed }

// sample samples bytes of some senders, bits a second, from zero on.
func (b *testbed) sample(bin units.Duration, bytes func(*sim.MessageLog) uint64,
	of func(sender int) bool) *fabric.Series {
	return b.Net.SampleRate(bin, func() (sum uint64) {
		for _, m := range b.Result().Messages {
			if of(m.From) {
				sum += bytes(m)
			}
		}
		return sum
	})
}

func everySender(int) bool { return true }
