package carclab

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport"
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

	control  func(sender int) cc.Control // nil: a window that never closes
	around   func(a cc.Algorithm)        // is told of each
	admit    func(sender int, path cc.Path) (cc.Gate, cc.Granter, error)
	done     func(sender int, bytes units.Bytes) // is told of what is consumed; nil for nobody
	credits  *carc.Spec                          // nil: none
	share    func(sender int) carc.Share
	silent   int // connections that share the cache and send nothing
	compute  func(host int, now units.Time) (cc.Controller, error)
	response units.Bytes // of the program to each message; 0 none

	v2    units.BitRate                   // of the program, when it finds all in the cache
	miss  units.Duration                  // what a line that it does not find costs it besides
	cache *hostmodel.Host                 // nil: it finds all
	order hostmodel.Order                 // of receive buffers
	start func(sender int) units.Duration // after zero; nil: at once
	// what one more host may send to the same one, into memory that nobody reads
	cross units.BitRate

	net                 *fabric.Network
	cl                  *sim.Simulation
	endpoint            *carc.Endpoint
	conns               []*talk
	buffers             *hostmodel.Queue
	waiting             []arrival
	working             bool
	idle                units.Duration // of the program
	idleFrom            units.Time
	looks               []look
	stopped             bool     // senders post nothing more
	consumed, delivered []uint64 // bytes, of each connection
	zero                units.Time
	problem             error
}

// talk is a sender's connection.
type talk struct {
	*sim.Conn
	bed    *testbed
	sender int
	gate   *carc.Gate
	grants *carc.Granter
	posted []units.Bytes // whose response has not come
	sent   uint64        // bytes that were posted
}

// nobody drives a silent connection.
type nobody struct{}

func (nobody) Report(*cc.Event, units.Time) {}
func (nobody) Ask()                         {}

// arrival is a message that the program has not begun with.
type arrival struct {
	of    *talk
	bytes units.Bytes
}

// packetWire is what a packet has besides payload, with its CRC, preamble and gap.
const packetWire = 14 + 20 + 8 + 12 + 16 + 4 + 24

// build makes the network and the connections, which know each other at zero.
func (b *testbed) build() (err error) {
	if b.mtu == 0 {
		b.mtu = 4 * units.KiB
	}
	hosts := b.senders + 1
	if b.cross > 0 {
		hosts++
	}
	b.net = fabric.New(fabric.Config{Seed: b.seed, MTU: 4400})
	delay := (b.baseRTT - b.rate.Duration(2*(b.mtu+packetWire)) - b.rate.Duration(2*86)) / 4
	sw := b.net.AddSwitch("switch", fabric.SwitchConfig{Buffer: 32 * units.MiB,
		Queues: b.queues.At(), INT: true})
	for range hosts {
		b.net.Connect(b.net.AddHost(fabric.HostConfig{RxDelay: units.Nanosecond}), sw,
			fabric.Link{Rate: b.rate, Delay: delay})
	}
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return err
	}
	crossing, err := cc.Parse(fmt.Sprintf("fixed:window=1GB,rate=%dMbps",
		max(1, b.cross/units.Mbps)))
	if err != nil {
		return err
	}
	config := sim.Scenario{
		Topology: sim.On(b.net),
		Seed:     b.seed,
		Hosts: sim.Hosts{PathMTU: b.mtu, Timeout: 12, Receives: b.deep, SendDepth: b.deep + 2,
			Chunk: max(units.MiB, b.message)},
		Scheme: sim.Scheme{Selective: true,
			AnswerClass:  56 << 2,
			TrafficClass: 2,
			Controller:   b.compute,
			Of: func(p sim.Pair, s *sim.Service) {
				s.Control = open
				if p.From == b.senders+1 {
					s.Control = crossing
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
		},
	}
	if b.admit != nil {
		config.Scheme.Admit = func(p sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
			if p.From > b.senders {
				return nil, nil, nil
			}
			return b.admit(p.From, path)
		}
	}
	var last *carc.Gate
	var grants *carc.Granter
	if b.credits != nil {
		b.endpoint = b.credits.Endpoint()
		config.Scheme.Credits = func(p sim.Pair, path cc.Path) (cc.CreditGate, cc.CreditGranter,
			error) {
			if p.From > b.senders {
				return nil, nil, nil
			}
			share := carc.Share{}
			if b.share != nil {
				share = b.share(p.From)
			}
			last, grants, err = b.endpoint.NewShare(path, share)
			return last, grants, err
		}
	}
	if b.cl, err = sim.New(config); err != nil {
		return err
	}
	if err = b.cl.Introduce(); err != nil {
		return err
	}
	if b.cache != nil {
		if b.buffers, err = b.cache.Queue(b.senders*b.deep, b.message, b.order); err != nil {
			return err
		}
	}
	for range b.silent {
		_, g, err := b.endpoint.New(cc.Path{LineRate: b.rate, BaseRTT: b.baseRTT, Payload: b.mtu})
		if err != nil {
			return err
		}
		g.Attach(nobody{})
	}
	b.consumed, b.delivered = make([]uint64, b.senders), make([]uint64, b.senders)
	for i := range b.senders {
		conn, err := b.cl.Connect(i, b.senders)
		if err != nil {
			return err
		}
		t := &talk{Conn: conn, bed: b, sender: i, gate: last, grants: grants}
		conn.Written, conn.Arrived, conn.Replied = t.written, t.arrived, t.replied
		b.conns = append(b.conns, t)
	}
	b.zero = b.net.Now()
	b.idleFrom = b.zero
	for _, l := range b.looks {
		for at := l.from; at < l.until; at += l.each {
			b.at(at, l.do)
		}
	}
	for i, t := range b.conns {
		at := b.zero
		if b.start != nil {
			at = at.Add(b.start(i))
		}
		b.net.At(at, func() {
			for range b.deep {
				t.post()
			}
		})
	}
	return nil
}

// at has something happen at a time after zero.
func (b *testbed) at(d units.Duration, do func()) { b.net.At(b.zero.Add(d), do) }

// crossing sends what belongs to no credits from one time to another.
func (b *testbed) crossing(from, to units.Duration) error {
	conn, err := b.cl.Connect(b.senders+1, b.senders)
	if err != nil {
		return err
	}
	over := b.zero.Add(to)
	conn.Written = func(_ transport.Status, now units.Time) {
		if now.Before(over) {
			b.note(conn.Write(64 * units.KiB))
		}
	}
	b.at(from, func() {
		for range 48 { // 3 MiB: more than queues
			b.note(conn.Write(64 * units.KiB))
		}
	})
	return nil
}

// run goes on until a time after zero.
func (b *testbed) run(until units.Duration) error {
	if err := b.net.Run(b.zero.Add(until)); err != nil {
		return err
	}
	if b.problem == nil && len(b.cl.Errors) > 0 {
		b.problem = b.cl.Errors[0]
	}
	return b.problem
}

func (b *testbed) note(err error) {
	if err != nil && b.problem == nil {
		b.problem = err
	}
}

func (t *talk) post() {
	if t.bed.stopped {
		return
	}
	t.sent += uint64(t.bed.message)
	if t.bed.response > 0 {
		t.posted = append(t.posted, t.bed.message)
	}
	t.bed.note(t.Send(t.bed.message))
}

// written posts the next message for one that was acknowledged; with responses that is for one that
// was answered.
func (t *talk) written(status transport.Status, _ units.Time) {
	if status != transport.StatusSuccess {
		t.bed.note(fmt.Errorf("a message of sender %d: %v", t.sender, status))
		return
	}
	if t.bed.response == 0 {
		t.post()
	}
}

func (t *talk) replied(units.Bytes, units.Time) {
	t.QP.Admission().Answered(t.posted[0])
	t.posted = t.posted[1:]
	t.post()
}

// arrived puts a message before the program.
func (t *talk) arrived(bytes units.Bytes, now units.Time) {
	b := t.bed
	if b.buffers != nil && !b.buffers.Receive(bytes, uint64(t.sender)) {
		b.note(fmt.Errorf("no buffer for a message of sender %d", t.sender))
	}
	b.delivered[t.sender] += uint64(bytes)
	b.waiting = append(b.waiting, arrival{t, bytes})
	if !b.working {
		b.working = true
		b.idle += now.Sub(b.idleFrom)
		b.work(now)
	}
}

// work has the program begin with the oldest message.
func (b *testbed) work(now units.Time) {
	a := b.waiting[0]
	b.waiting = b.waiting[1:]
	took := b.v2.Duration(a.bytes)
	var m hostmodel.Message
	if b.buffers != nil {
		m, _ = b.buffers.Read()
		took += units.Duration(m.Missed) * b.miss
	}
	b.net.At(now.Add(took), func() {
		now := b.net.Now()
		if b.buffers != nil {
			b.buffers.Release(m)
		}
		b.consumed[a.of.sender] += uint64(a.bytes)
		a.of.Consumed(a.bytes)
		if b.done != nil {
			b.done(a.of.sender, a.bytes)
		}
		if b.response > 0 {
			a.of.Reply(b.response)
		}
		if b.working = len(b.waiting) > 0; b.working {
			b.work(now)
		} else {
			b.idleFrom = now
		}
	})
}

// idled is how long the program had nothing to do so far.
func (b *testbed) idled() units.Duration {
	if b.working {
		return b.idle
	}
	return b.idle + b.net.Now().Sub(b.idleFrom)
}

// unfinished is how many connections have messages that the program has not consumed.
func (b *testbed) unfinished() (n int) {
	for i, t := range b.conns {
		if t.sent != b.consumed[i] {
			n++
		}
	}
	return n
}

// look is what is looked at each interval between two times after zero.
type look struct {
	from, until, each units.Duration
	do                func()
}

// between has something looked at; it is said before build.
func (b *testbed) between(from, until, each units.Duration, do func()) {
	b.looks = append(b.looks, look{from, until, each, do})
}

// goodput samples what is delivered to the program of some senders, bits a second, from zero on.
func (b *testbed) goodput(bin units.Duration, senders ...int) *fabric.Series {
	return b.net.SampleRate(bin, func() uint64 { return sumOf(b.delivered, senders) })
}

// consumption samples the same of what the program consumes.
func (b *testbed) consumption(bin units.Duration, senders ...int) *fabric.Series {
	return b.net.SampleRate(bin, func() uint64 { return sumOf(b.consumed, senders) })
}

func sumOf(bytes []uint64, of []int) (sum uint64) {
	for _, i := range of {
		sum += bytes[i]
	}
	return sum
}
