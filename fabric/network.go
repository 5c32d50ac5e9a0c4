package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Config configures a network.
type Config struct {
	// Seed seeds all random number generators: of marks, hashes and faults.
	Seed uint64
	// MTU is the longest IP datagram of any link; 0 means 4200, more than RoCEv2's longest packet.
	MTU units.Bytes
	// Classify maps a DSCP to a switch queue, which is also its PFC priority. All zero means
	// DSCP/8, the class selectors (RFC 2474).
	Classify [64]uint8
	// PauseResponse is how long a port continues to send after it receives a pause, in bytes at the
	// rate of its link; 0 means 480, the 3840 bit times of 802.3 (annex 31B.3.7).
	PauseResponse units.Bytes
	// OffloadICRC makes the NICs offer packet.OffloadICRC: no endpoint computes the invariant CRC
	// of a packet, and the network computes it only for packets that a fault corrupts. Endpoints
	// observe no difference, only a reader of frames does.
	OffloadICRC bool
}

// Network is a network of hosts, switches and links in virtual time.
type Network struct {
	engine
	timers hostTimers
	config Config
	rng    *rand.Rand
	seeds  [8]uint64 // of the ECMP hash, per tier of switches
	bond   uint64    // seed of the hash that selects a link of hosts with several links

	hosts    []*Host
	switches []*Switch
	ports    []*Port
	owners   map[netip.Addr]*Host
	cores    map[int]*turns // shared cores by number
	built    bool

	frames []*frame
	free   []*frame
	unused []frame // unused frames of the last allocation
	slab   []byte
	room   int // size of a buffer in bytes

	digest     uint64
	err        error
	Hops       uint64 // number of frames that reached the far end of a link
	Events     uint64
	injected   uint64 // frames sent by pollers
	duplicated uint64 // frames duplicated by faults
	reports    uint64 // frames sent by switches
	delivered  uint64 // frames received by pollers
	dropped    uint64
	events     *events // nil: no log
}

// ethernetHeader is the maximum length before the IP header, with a VLAN tag.
const ethernetHeader = 18

// New returns an empty network.
func New(c Config) *Network {
	if c.MTU == 0 {
		c.MTU = 4200
	}
	if c.PauseResponse == 0 {
		c.PauseResponse = 480
	}
	if c.Classify == [64]uint8{} {
		for dscp := range c.Classify {
			c.Classify[dscp] = uint8(dscp / 8)
		}
	}
	n := &Network{config: c, owners: map[netip.Addr]*Host{},
		rng: rand.New(rand.NewPCG(c.Seed, 0x666162726963))}
	n.bond = n.rng.Uint64()
	n.room = (int(c.MTU) + ethernetHeader + 63) &^ 63
	for i := range n.seeds {
		n.seeds[i] = n.rng.Uint64()
	}
	return n
}

// Node is a host or a switch.
type Node interface {
	String() string
	connect(p *Port)
}

func (h *Host) connect(p *Port) {
	p.host, p.index = h, int32(len(h.nic.ports))
	h.nic.ports = append(h.nic.ports, p)
}

func (s *Switch) connect(p *Port) {
	p.sw, p.index = s, int32(len(s.ports))
	s.ports = append(s.ports, p)
}

// AddHost adds a host.
func (n *Network) AddHost(c HostConfig) *Host {
	h := &Host{net: n, index: len(n.hosts), config: c, wakeAt: never, deadline: never,
		timerIndex: -1}
	h.nic = NIC{host: h, net: n, depth: int32(c.TxDepth), room: c.RxDepth}
	if h.nic.depth == 0 {
		h.nic.depth = 1
	}
	if h.nic.room == 0 {
		h.nic.room = 65536
	}
	n.hosts = append(n.hosts, h)
	for _, prefix := range h.Addrs() {
		n.owners[prefix.Addr()] = h
	}
	return h
}

// AddSwitch adds a switch.
func (n *Network) AddSwitch(name string, c SwitchConfig) *Switch {
	s := &Switch{net: n, index: len(n.switches), name: name, config: c}
	n.switches = append(n.switches, s)
	return s
}

// Connect links two nodes and returns the link's port at a. Its Peer is the port at b.
func (n *Network) Connect(a, b Node, l Link) *Port {
	var ends [2]*Port
	for i, node := range [2]Node{a, b} {
		p := &Port{net: n, id: int32(len(n.ports)), rate: l.Rate, delay: l.Delay, wakeAt: never}
		if l.Rate > 0 && 8*int64(units.Second)%int64(l.Rate) == 0 {
			p.byteAt = units.Duration(8 * int64(units.Second) / int64(l.Rate))
		}
		node.connect(p)
		n.ports = append(n.ports, p)
		ends[i] = p
	}
	ends[0].peer, ends[1].peer = ends[1], ends[0]
	return ends[0]
}

// Hosts returns the hosts by index.
func (n *Network) Hosts() []*Host { return n.hosts }

// Host returns the host with index i.
func (n *Network) Host(i int) *Host { return n.hosts[i] }

// Switches returns the switches in the order of AddSwitch.
func (n *Network) Switches() []*Switch { return n.switches }

// Build completes the construction: it validates the configuration, divides the buffers and
// computes the routes.
func (n *Network) Build() error {
	if n.built {
		return nil
	}
	n.built = true
	for _, p := range n.ports {
		if p.rate < units.Mbps || p.rate > 800*units.Gbps {
			return fmt.Errorf("fabric: link between %v and %v: rate %v out of range "+
				"[1 Mb/s, 800 Gb/s]", p.Node(), p.peer.Node(), p.rate)
		}
		if p.delay < 0 {
			return fmt.Errorf("fabric: link between %v and %v: delay %v is negative", p.Node(),
				p.peer.Node(), p.delay)
		}
		if h := p.host; h != nil {
			p.delay += h.config.TxDelay + h.config.PCIe.Latency
		}
		if s := p.peer.sw; s != nil {
			p.delay += s.config.Delay
		}
	}
	for _, h := range n.hosts {
		if len(h.nic.ports) == 0 {
			return fmt.Errorf("fabric: %v has no link", h)
		}
		h.build()
		if err := h.buildCore(); err != nil {
			return err
		}
	}
	for _, s := range n.switches {
		if err := s.build(); err != nil {
			return err
		}
	}
	n.findRoutes()
	return nil
}

// Node returns the host or switch that the port belongs to.
func (p *Port) Node() Node {
	if p.host != nil {
		return p.host
	}
	return p.sw
}

// build sets up the NIC. It sends control before ACKs before data, and higher classes of data
// first.
func (h *Host) build() {
	rate := units.BitRate(0)
	for _, p := range h.nic.ports {
		rate += p.rate
		var qs Queues
		qs[packet.ClassAck].Level, qs[packet.ClassControl].Level = MaxQueues, MaxQueues+1
		p.configure(&qs)
	}
	h.nic.info = packet.Info{
		Name: fmt.Sprintf("fabric:%d", h.index), Driver: "fabric", MAC: h.mac(),
		MTU:      h.net.config.MTU,
		LinkRate: rate, Classes: int(packet.Classes) + h.config.DataClasses,
		TxDepth: int(h.nic.depth), Timestamps: !h.config.NoStamps,
		RxCoalescing: h.config.Coalesce.Every,
	}
	if h.net.config.OffloadICRC {
		h.nic.info.Offloads = packet.OffloadICRC
	}
}

// mac returns a locally administered address with the host's index.
func (h *Host) mac() packet.MAC {
	m := packet.MAC{0x02, 0x0f}
	binary.BigEndian.PutUint32(m[2:], uint32(h.index))
	return m
}

// hostOf returns the index of the host with a MAC address, or -1.
func (n *Network) hostOf(mac []byte) int32 {
	if mac[0] != 0x02 || mac[1] != 0x0f {
		return -1
	}
	i := binary.BigEndian.Uint32(mac[2:])
	if i >= uint32(len(n.hosts)) {
		return -1
	}
	return int32(i)
}

// resolve returns the index of the host whose address a broadcast ARP request or a neighbour
// solicitation asks for, or -1. The network knows all addresses and delivers the request to that
// host only, as an Ethernet VPN does.
func (n *Network) resolve(data []byte, l3 int, ether uint16) int32 {
	var who netip.Addr
	switch {
	case ether == etherARP && len(data) >= l3+28:
		who = netip.AddrFrom4([4]byte(data[l3+24:]))
	case ether == etherIPv6 && len(data) >= l3+40+24 && data[l3+6] == protoICMP &&
		data[l3+40] == 135:
		who = netip.AddrFrom16([16]byte(data[l3+48:]))
	default:
		return -1
	}
	if h := n.owners[who]; h != nil {
		return int32(h.index)
	}
	return -1
}

// AddAddr adds an address to a host.
func (n *Network) AddAddr(h *Host, a netip.Addr) { n.owners[a] = h }

// Now returns the virtual time.
func (n *Network) Now() units.Time { return n.now }

// Rand returns the network's random number generator. Draws from it change the run.
func (n *Network) Rand() *rand.Rand { return n.rng }

// At calls f at a time, or now if that has passed.
func (n *Network) At(at units.Time, f func()) {
	if at.Before(n.now) {
		at = n.now
	}
	n.call(at, f)
}

// Every calls f now and then at equal intervals until it returns false.
func (n *Network) Every(interval units.Duration, f func(now units.Time) bool) {
	n.call(n.now, func() { n.tick(interval, f) })
}

func (n *Network) tick(interval units.Duration, f func(units.Time) bool) {
	if f(n.now) {
		n.call(n.now.Add(max(interval, units.Picosecond)), func() { n.tick(interval, f) })
	}
}

// ErrStopped is returned by Run after Stop.
var ErrStopped = errors.New("fabric: stopped")

// Stop ends the current Run.
func (n *Network) Stop() { n.fail(ErrStopped) }

func (n *Network) fail(err error) {
	if n.err == nil {
		n.err = err
	}
}

// Run runs the simulation up to and including a time. It returns an error if the accounts of frames
// are wrong (see Check), if a poller spins, or ErrStopped after Stop. Afterwards the virtual time
// is until, or the time at which the run stopped.
func (n *Network) Run(until units.Time) error {
	n.err = n.Advance(until)
	if err := n.Check(); n.err == nil || errors.Is(n.err, ErrStopped) && err != nil {
		n.err = err
	}
	return n.err
}

// Advance is Run without the final Check, for callers that advance time in many small steps, such
// as a switch in real time.
func (n *Network) Advance(until units.Time) error {
	if err := n.Build(); err != nil {
		return err
	}
	n.err = nil
	for n.err == nil {
		timer := n.timers.next(until)
		e, ok := n.pop(min(until, timer))
		if !ok {
			if timer.After(until) {
				break
			}
			h := n.timers.pop()
			n.now = max(timer, n.now)
			e = event{at: n.now, id: int32(h.index), kind: eventPoll}
			h.wakeAt = n.now
		}
		n.Events++
		// FNV-1a's prime
		n.digest = (n.digest ^ uint64(e.at) ^ uint64(e.id)<<40 ^ uint64(e.kind)<<60) * 0x100000001b3
		n.dispatch(e)
		if debug {
			n.fail(n.Check())
		}
	}
	if n.err == nil {
		n.now = until
	}
	return n.err
}

// dispatch executes an event.
func (n *Network) dispatch(e event) {
	switch e.kind {
	case eventTransmit:
		if p := n.ports[e.id]; p.wakeAt == e.at {
			p.wakeAt = never
			p.kick()
		}
	case eventArrive:
		n.arrive(n.ports[e.id])
	case eventPoll:
		if h := n.hosts[e.id]; h.wakeAt == e.at {
			h.wakeAt = never
			h.poll()
		}
	case eventCall:
		n.run(e.id)
	}
}

// arrive moves the first frame on the wire of a port to the other end.
func (n *Network) arrive(p *Port) {
	f := p.wire.pop()
	if !p.wire.empty() {
		next := p.wire.first()
		n.schedule(next.at, eventArrive, p.id)
		prefetch.Line(next.f)
	}
	n.Hops++
	if p.faults != nil && !p.faults.apply(p, f) {
		return
	}
	n.deliver(p, f)
}

// deliver passes a frame to the node at the other end.
func (n *Network) deliver(p *Port, f *frame) {
	to := p.peer
	switch {
	case f.pause:
		to.receivePause(f)
	case to.sw != nil:
		to.sw.receive(to, f)
	default:
		to.host.nic.receive(f)
	}
}

// inject counts a frame that a poller sent. The digest covers its last four bytes, the ICRC of a
// RoCEv2 packet, or its sequence number with OffloadICRC.
func (n *Network) inject(f *frame, data []byte) {
	f.state = frameMoving
	n.injected++
	if len(data) >= 4 {
		word := binary.LittleEndian.Uint32(data[len(data)-4:])
		if n.config.OffloadICRC && word == 0 {
			word = f.sequenceNumber(data)
		}
		n.digest ^= uint64(word)
	}
}

// drop discards a frame in flight.
func (n *Network) drop(f *frame) {
	n.dropped++
	n.giveBack(f)
}

// Digest returns a digest of the events so far. Equal runs have equal digests.
func (n *Network) Digest() uint64 { return n.digest ^ n.Hops<<32 ^ n.injected }
