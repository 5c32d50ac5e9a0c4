package carclab

import (
	"context"
	"errors"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/nicoffload/hostcc"
	"github.com/goroce/goroce/units"
)

// The testbed: a Xeon Silver 4309Y at 2.8 GHz, 200 Gb/s, PCIe 4.0 x16, DDR4-3200 in eight channels,
// a base round trip of 10 µs. eRPC carries 10 million small requests a second on a core (Kalia et
// al., NSDI '19): 100 ns each.
const (
	tickRate  = 2.8e9 // in a second
	pcieRate  = 252 * gbps
	memory    = 1638 * gbps // of idle channels: what they can transfer
	oneWay    = 5 * us
	perPacket = 100 * units.Nanosecond
	lineHit   = 20 * units.Nanosecond
	lineMiss  = 90 * units.Nanosecond // of idle memory
	// overhead is the overhead of a packet on the link besides its payload: Ethernet with preamble
	// and gap, IPv4, UDP, BTH, ICRC, and eRPC's header.
	overhead = 14 + 4 + 20 + 20 + 8 + 12 + 4 + 16
	// packetRoom is a receive buffer of eRPC: MTU 1024 and headers.
	packetRoom = 1088
)

// machine is the server.
type machine struct {
	cache     hostmodel.CacheConfig
	link      units.BitRate
	ring      int            // receive buffers of a thread
	hit, miss units.Duration // of a line
	// parallel is the number of lines of a packet that a thread waits for at a time; 0 means 1.
	parallel int
	// sustained is the bandwidth of memory whose latency grows with the load; 0 means memory that
	// has the bandwidth of its channels and a constant latency.
	sustained units.BitRate
	late      units.Duration // when threads begin to read
}

// reading returns how long a thread waits for the lines of a packet.
func (m *model) reading(hits, misses int, now units.Time) units.Duration {
	miss, longest := m.miss, units.Duration(0)
	if m.sustained > 0 {
		miss = m.host.LineLatency(now)
	}
	if hits > 0 {
		longest = m.hit
	}
	if misses > 0 {
		longest = max(longest, miss)
	}
	all := units.Duration(hits)*m.hit + units.Duration(misses)*miss
	return max(longest, all/units.Duration(max(1, m.parallel)))
}

// scheme is how senders are controlled, besides the rule that no thread's ring overflows.
type scheme struct {
	hostCC    bool
	threshold int    // of hostCC in lines, 0 for hostCC's rule
	carc      string // settings of credits, "" for none
	order     hostmodel.Order
}

// load is what a connection requests of a thread.
type load struct {
	thread         int
	packet, answer units.Bytes
	ticks          int  // of processing, for each packet
	flow           int  // packets of a flow, which has one response; 1 for requests of a packet
	oneWay         bool // a flow begins when the one before is sent, not when it is answered
	// the thread copies packets into a message buffer of its own, as eRPC does with large messages
	copies bool
	walks  bool // for each line that the thread reads, the antagonist takes one
	class  int  // for the measurements
}

// model is one run: senders behind one link, and the server.
type model struct {
	machine
	scheme
	clock    *fabric.Network // without packets
	host     *hostmodel.Host
	signal   *hostcc.Host
	credits  *carc.Endpoint
	answered bool // responses return credits
	threads  []*thread
	conns    []*conn
	packets  []packet // by the tag of a message
	spare    []uint64

	turns   []*conn // connections that may send, one packet at a time
	sending bool
	nicFree units.Time
	answers units.Time // when the link back is free

	toNIC, toThread, acks, responses, notices pipe

	walk    *hostmodel.Walk // of an antagonist
	classes []measured
	most    units.Bytes // the largest unconsumed amount
	err     error
}

// packet is a packet on its way.
type packet struct {
	conn         *conn
	marked, last bool
	sent         units.Time
	returns      cc.ControlMessage // of a CREDIT
}

// measured is the counters of a class of loads since reset.
type measured struct {
	packets, lines, missed int // lines of receive buffers
	touched, untouched     int // lines of message buffers
	marked                 int
	busy                   units.Duration // of its threads
	threads                int
	fct                    []float64
}

// newModel makes a server with the number of threads that the loads use, and their connections.
func newModel(mc machine, s scheme, loads []load) (*model, error) {
	m := &model{machine: mc, scheme: s, clock: fabric.New(fabric.Config{})}
	dram := hostmodel.MemoryConfig{Bandwidth: memory}
	if mc.sustained > 0 {
		dram = hostmodel.MemoryConfig{Bandwidth: mc.sustained, Latency: mc.miss, Queueing: true}
	}
	var err error
	m.host, err = hostmodel.New(hostmodel.Config{PCIe: fabric.PCIe{Rate: pcieRate}, Memory: dram,
		Cache: &mc.cache})
	if err != nil {
		return nil, err
	}
	m.toNIC.init(m, m.arrive)
	m.toThread.init(m, m.deliver)
	m.acks.init(m, m.acknowledge)
	m.responses.init(m, m.respond)
	m.notices.init(m, m.onCredit)
	sharing := map[int]int{}
	for _, l := range loads {
		sharing[l.thread]++
		for len(m.threads) <= l.thread {
			t := &thread{m: m}
			t.done = t.finish
			if t.queue, err = m.host.Queue(mc.ring, packetRoom, s.order); err != nil {
				return nil, err
			}
			m.clock.At(units.Time(mc.late), t.wake)
			m.threads = append(m.threads, t)
		}
		for len(m.classes) <= l.class {
			m.classes = append(m.classes, measured{})
		}
		if sharing[l.thread] == 1 {
			m.classes[l.class].threads++
		}
	}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	for _, l := range loads {
		if err := m.connect(l, mc.ring/sharing[l.thread]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// prepare sets up the scheme's part of the server.
func (m *model) prepare() error {
	threshold := m.threshold
	if threshold == 0 {
		threshold = hostThreshold(m.link)
	}
	// The module's bandwidth is for 100 Gb/s.
	m.signal = hostcc.New(hostcc.Config{Occupancy: threshold, Bandwidth: 84 * m.link / 100})
	if m.hostCC {
		sample := m.signal.Sampler(m.host.Occupancy, m.host.Bandwidth, m.host)
		m.clock.Every(us, func(now units.Time) bool { sample(now); return true })
	}
	if m.carc == "" {
		return nil
	}
	spec, err := carc.Parse(m.carc)
	if err != nil {
		return err
	}
	m.credits = spec.On(carc.Cache{Size: m.cache.Size, Line: 64,
		DDIO: m.host.Cache.Direct()}).Endpoint()
	m.answered = spec.RequestResponse()
	return nil
}

// run advances time.
func (m *model) run(ctx context.Context, d units.Duration) error {
	const piece = 100 * us
	for until := m.clock.Now().Add(d); m.clock.Now().Before(until) && m.err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.clock.Run(units.Earlier(until, m.clock.Now().Add(piece))); err != nil {
			return err
		}
	}
	return m.err
}

// reset starts a measurement.
func (m *model) reset() {
	for i := range m.classes {
		m.classes[i] = measured{fct: m.classes[i].fct[:0], threads: m.classes[i].threads}
	}
}

func (m *model) tag(p packet) uint64 {
	if n := len(m.spare); n > 0 {
		tag := m.spare[n-1]
		m.spare = m.spare[:n-1]
		m.packets[tag] = p
		return tag
	}
	m.packets = append(m.packets, p)
	return uint64(len(m.packets) - 1)
}

// turn lets the link take the next packet, from the connections in turn.
func (m *model) turn() {
	m.sending = false
	for len(m.turns) > 0 {
		c := m.turns[0]
		m.turns = m.turns[1:]
		c.waits = false
		if !c.ready() {
			continue
		}
		c.send()
		c.wake()
		return
	}
}

// arrive handles a packet at the NIC, which writes it to memory.
func (m *model) arrive(tag uint64) {
	p, now := &m.packets[tag], m.clock.Now()
	size := p.conn.packet
	took := pcieRate.Duration(size) + m.host.Write(now, size)
	if m.nicFree.Before(now) {
		m.nicFree = now
	}
	m.nicFree = m.nicFree.Add(took)
	p.marked = m.hostCC && m.signal.Congested()
	m.toThread.put(m.nicFree, tag)
}

// deliver handles a packet in its receive buffer.
func (m *model) deliver(tag uint64) {
	p, now := &m.packets[tag], m.clock.Now()
	c := p.conn
	if !c.thread.queue.Receive(c.packet, tag) {
		m.err = errors.New(
			"carclab: a packet arrived at a ring without free buffers: its sender's window is " +
				"wrong")
		return
	}
	m.most = max(m.most, m.host.Unconsumed())
	if c.granter != nil {
		c.granter.Delivered(c.packet, now)
		c.sendCredit() // on the acknowledgement
		c.scheduleCredit()
	}
	m.acks.put(now.Add(oneWay), m.tag(packet{conn: c, marked: p.marked, sent: p.sent}))
	c.thread.wake()
}
