package transport

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const cmPort = 7174

// managed is an endpoint with a communication manager and its program, which creates a queue pair
// for each connection: the active side's sends one message.
type managed struct {
	t      testing.TB
	ep     *Endpoint
	cm     *rdmacm.Machine
	sides  map[*rdmacm.Conn]*side
	offers map[*rdmacm.Conn]rdmacm.Offer
	events []rdmacm.EventKind
}

func newManaged(t testing.TB, e *Endpoint, seed uint64) *managed {
	cm, err := rdmacm.New(rdmacm.Config{GUID: seed, Seed: seed})
	require.NoError(t, err)
	require.NoError(t, e.Setup().Manage(cm))
	m := &managed{t: t, ep: e, cm: cm, sides: map[*rdmacm.Conn]*side{},
		offers: map[*rdmacm.Conn]rdmacm.Offer{}}
	e.Loop().OnRound(m.round)
	return m
}

func (m *managed) make() (*side, rdmacm.Offer) {
	s := defaults().make(m.t, m.ep)
	return s, rdmacm.Offer{QPN: s.qp.Num, PSN: wire.PSN(m.ep.Setup().RandomPSN()),
		ResponderResources: 4,
		InitiatorDepth:     4, RetryCount: 7, RNRRetry: 7}
}

func (m *managed) dial(peer string) *rdmacm.Conn {
	s, offer := m.make()
	ip := netip.MustParseAddr(peer)
	source, err := m.ep.Setup().Source(ip)
	require.NoError(m.t, err)
	c, err := m.cm.Connect(rdmacm.Dial{Offer: offer, Local: source, Peer: ip,
		Service: rdmacm.TCPService(cmPort), MTU: units.KiB}, m.ep.Loop().Now())
	require.NoError(m.t, err)
	m.sides[c], m.offers[c] = s, offer
	return c
}

// bringUp moves a queue pair to what was agreed, and posts a receive.
func (m *managed) bringUp(c *rdmacm.Conn) {
	s, a := m.sides[c], c.QPAttr(m.offers[c])
	require.NoError(m.t,
		s.qp.Connect(QPAttr{Access: RemoteWrite, PKey: a.PKey,
			Path:    AddressVector{IP: a.IP, Source: a.Source, HopLimit: a.HopLimit},
			PathMTU: a.PathMTU, DestQPN: a.DestQPN,
			RecvPSN: a.RecvPSN, MaxDestRdAtomic: a.MaxDestRdAtomic, MinRNRTimer: 1,
			SendPSN: a.SendPSN,
			Timeout: a.Timeout, RetryCount: a.RetryCount,
			RNRRetry: a.RNRRetry, MaxRdAtomic: a.MaxRdAtomic}))
	s.recv(m.t, 1, 0, 100)
}

func (m *managed) round(now units.Time) {
	for e, ok := m.cm.Event(); ok; e, ok = m.cm.Event() {
		m.events = append(m.events, e.Kind)
		switch e.Kind {
		case rdmacm.ConnectRequest:
			m.sides[e.Conn], m.offers[e.Conn] = m.make()
			m.bringUp(e.Conn)
			require.NoError(m.t, e.Conn.Accept(m.offers[e.Conn], now))
		case rdmacm.ConnectResponse:
			m.bringUp(e.Conn)
			require.NoError(m.t, e.Conn.Confirm())
			m.sides[e.Conn].post(m.t, WorkRequest{Op: OpSend, Signaled: true,
				SGList: []SGE{m.sides[e.Conn].mr.SGE(0, 100)}})
		}
	}
}

// arrived returns how many messages the connections received and completed.
func (m *managed) arrived() (received, sent int) {
	for _, s := range m.sides {
		for _, wc := range s.poll() {
			switch {
			case wc.Status != StatusSuccess:
				require.Equal(m.t, StatusWRFlushErr, wc.Status)
			case wc.Op == OpRecv:
				received++
			default:
				sent++
			}
		}
		s.comp = nil
	}
	return received, sent
}

// managedPair is two managed endpoints on a pipe with faults, in virtual time.
type managedPair struct {
	now      units.Time
	a, b     *managed
	fa, fb   *packet.Faults
	ends     [2]*packet.PipeEnd
	activity uint64
}

func newManagedPair(t testing.TB, prefix string, a, b packet.FaultOptions) *managedPair {
	p := &managedPair{}
	p.ends[0], p.ends[1] = packet.Pipe(packet.PipeOptions{})
	for i, o := range []packet.FaultOptions{a, b} {
		f, err := packet.NewFaults(p.ends[i], o)
		require.NoError(t, err)
		e, err := New(Config{Port: f, Addrs: prefixes(fmt.Sprintf(prefix, i+1)),
			Seed: uint64(i) + 1}, 0)
		require.NoError(t, err)
		m := newManaged(t, e, uint64(i)+1)
		if i == 0 {
			p.a, p.fa = m, f
		} else {
			p.b, p.fb = m, f
		}
	}
	require.NoError(t, p.b.cm.Listen(rdmacm.TCPService(cmPort), 16))
	return p
}

// run runs, from event to event, until done returns true, for at most d of virtual time.
func (p *managedPair) run(d units.Duration, done func() bool) bool {
	for end := p.now.Add(d); ; {
		next := units.Earlier(p.a.ep.Poll(p.now), p.b.ep.Poll(p.now))
		if done() {
			return true
		}
		if is := p.a.ep.Loop().Activity() + p.b.ep.Loop().Activity(); is != p.activity {
			p.activity = is // a frame takes no time
			continue
		}
		if next.After(end) {
			p.now = end
			return false
		}
		if next.After(p.now) {
			p.now = next
		}
	}
}

func (p *managedPair) settle(d units.Duration) { p.run(d, func() bool { return false }) }

// attributeOf returns the kind of a frame's message for queue pair 1 (InfiniBand spec 13.4.3), or 0
// if it has none.
func attributeOf(frame []byte) uint16 {
	var p wire.Packet
	if p.Parse(frame) != nil || p.DestQP != rdmacm.QPN {
		return 0
	}
	return binary.BigEndian.Uint16(p.Payload()[16:])
}

// mad returns the rule for a fault of the nth datagram of an attribute.
func mad(attribute uint16, nth int, what packet.Fault) packet.FaultRule {
	return packet.FaultRule{Fault: what, Nth: nth, Match: func(frame []byte) bool {
		return attributeOf(frame) == attribute
	}}
}

// badly impairs part of all datagrams for queue pair 1, and less of the other traffic, which has
// fewer retries.
func badly(rng *rand.Rand) packet.FaultOptions {
	o := packet.FaultOptions{Seed: rng.Uint64(),
		Send: packet.FaultRates{Lose: 0.03, Duplicate: 0.05, Delay: 0.03}}
	for _, f := range []packet.Fault{packet.FaultLose, packet.FaultDuplicate, packet.FaultDelay,
		packet.FaultCorrupt} {
		o.Rules = append(o.Rules, packet.FaultRule{Fault: f, Match: func(frame []byte) bool {
			return attributeOf(frame) != 0 && rng.Float64() < 0.1
		}})
	}
	return o
}

// The messages of a connection, by attribute.
const (
	req, rep, rtu, dreq, drep = 0x10, 0x13, 0x14, 0x15, 0x16
)

// Whatever datagram is lost, repeated or late, two queue pairs are connected once, carry their
// message, and are disconnected again.
func TestManagementConnects(t *testing.T) {
	const lose, twice, late = packet.FaultLose, packet.FaultDuplicate, packet.FaultDelay
	for _, c := range []struct {
		name          string
		a, b          []packet.FaultRule
		retransmitted uint64 // by both machines
	}{
		{name: "nothing"},
		{name: "REQ lost", a: []packet.FaultRule{mad(req, 1, lose)}, retransmitted: 1},
		{name: "three REQs lost", a: []packet.FaultRule{mad(req, 1, lose), mad(req, 2, lose),
			mad(req, 3, lose)}, retransmitted: 3},
		{name: "REQ twice", a: []packet.FaultRule{mad(req, 1, twice)}},
		{name: "REP lost: both sides wait", b: []packet.FaultRule{mad(rep, 1, lose)},
			retransmitted: 2},
		{name: "REP twice", b: []packet.FaultRule{mad(rep, 1, twice)}},
		{name: "RTU lost: the first packet of data replaces it",
			a: []packet.FaultRule{mad(rtu, 1, lose)}},
		{name: "RTU behind the data", a: []packet.FaultRule{mad(rtu, 1, late)}},
		{name: "RTU and data twice", a: []packet.FaultRule{mad(rtu, 1, twice)}},
		{name: "DREQ lost", a: []packet.FaultRule{mad(dreq, 1, lose)}, retransmitted: 1},
		{name: "DREP lost", b: []packet.FaultRule{mad(drep, 1, lose)}, retransmitted: 1},
	} {
		for _, prefix := range []string{"10.0.0.%d/24", "fd00::%d/64"} {
			t.Run(c.name+" "+prefix, func(t *testing.T) {
				p := newManagedPair(t, prefix, packet.FaultOptions{Rules: c.a, ReorderBy: 1},
					packet.FaultOptions{Rules: c.b})
				conn := p.a.dial(netip.MustParsePrefix(fmt.Sprintf(prefix, 2)).Addr().String())
				received, sent := 0, 0
				require.True(t, p.run(units.Minute, func() bool {
					_, s := p.a.arrived()
					r, _ := p.b.arrived()
					sent, received = sent+s, received+r
					return sent == 1 && received == 1
				}), "%+v\n%+v", p.a.ep.Stats(), p.b.ep.Stats())
				conn.Disconnect(p.now)
				require.True(t, p.run(units.Minute, func() bool {
					return p.a.cm.Len()+p.b.cm.Len() == 0
				}))
				require.Equal(t, []rdmacm.EventKind{rdmacm.ConnectResponse, rdmacm.Disconnected,
					rdmacm.TimewaitExit}, p.a.events)
				require.Equal(t, []rdmacm.EventKind{rdmacm.ConnectRequest, rdmacm.Established,
					rdmacm.Disconnected, rdmacm.TimewaitExit}, p.b.events)
				require.Equal(t, c.retransmitted,
					p.a.cm.Counters().Retransmitted+p.b.cm.Counters().Retransmitted)
				require.Zero(t,
					p.a.ep.Stats().ManagementUnsent+p.b.ep.Stats().ManagementUnsent)
				require.False(t, p.a.ep.Loop().IsBusy() || p.b.ep.Loop().IsBusy())
			})
		}
	}
}

// On a link that loses, repeats, reorders and corrupts a third of the datagrams, every connection
// is established once, carries its message once, and ends.
func TestManagementOnABadLink(t *testing.T) {
	seed := testSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		p := newManagedPair(t, "10.0.0.%d/24", badly(rng), badly(rng))
		const n = 8
		var conns []*rdmacm.Conn
		for range n {
			conns = append(conns, p.a.dial("10.0.0.2"))
		}
		received, sent := 0, 0
		count := func() bool {
			_, s := p.a.arrived()
			r, _ := p.b.arrived()
			sent, received = sent+s, received+r
			return sent == n && received == n
		}
		require.True(t, p.run(5*units.Minute, count), "%d sent, %d received\n%+v\n%+v", sent,
			received, p.a.ep.Stats(), p.b.ep.Stats())
		for _, c := range conns {
			c.Disconnect(p.now)
		}
		require.True(t, p.run(5*units.Minute, func() bool {
			return count() && p.a.cm.Len()+p.b.cm.Len() == 0
		}))
		require.Equal(t, n, received, "no message arrived twice")
		tally := map[rdmacm.EventKind]int{}
		for _, k := range append(p.a.events, p.b.events...) {
			tally[k]++
		}
		require.Equal(t, map[rdmacm.EventKind]int{rdmacm.ConnectRequest: n,
			rdmacm.ConnectResponse: n, rdmacm.Established: n,
			rdmacm.Disconnected: 2 * n, rdmacm.TimewaitExit: 2 * n}, tally)
	}
}

// What cannot leave is counted, does not stop what can, and does not require polling for ever.
func TestManagementThatCannotLeave(t *testing.T) {
	p := newManagedPair(t, "10.0.0.%d/24", packet.FaultOptions{}, packet.FaultOptions{})
	p.a.dial("10.0.0.2")
	p.settle(units.Millisecond)
	for i := range maxPendingMADs + 3 { // no such neighbour
		p.a.dial(fmt.Sprintf("10.0.0.%d", 100+i))
	}
	_, err := p.a.cm.Connect(rdmacm.Dial{Offer: rdmacm.Offer{QPN: 99},
		Local: netip.MustParseAddr("10.0.0.1"),
		Peer:  netip.MustParseAddr("192.0.2.1"), Service: 1, MTU: units.KiB}, p.now) // no route
	require.NoError(t, err)
	_, err = p.a.cm.Connect(rdmacm.Dial{Offer: rdmacm.Offer{QPN: 99},
		Local: netip.MustParseAddr("10.0.0.7"),
		Peer:  netip.MustParseAddr("10.0.0.2"), Service: 1, MTU: units.KiB},
		p.now) // another endpoint's address
	require.NoError(t, err)
	p.a.dial("10.0.0.2")
	require.True(t, p.a.ep.Loop().IsBusy())
	p.settle(0)
	require.EqualValues(t, 5, p.a.ep.Stats().ManagementUnsent,
		"the queue was full three times; no route; not our address")
	require.Equal(t, []rdmacm.EventKind{rdmacm.ConnectRequest, rdmacm.Established,
		rdmacm.ConnectRequest, rdmacm.Established}, p.b.events)
	p.settle(neighborTimeout)
	require.EqualValues(t, maxPendingMADs+5, p.a.ep.Stats().ManagementUnsent)
	require.False(t, p.a.ep.Loop().IsBusy())
}

// TestForgedManagement sends queue pair 1 what a peer's must not send: each case has a counter of
// its own, and no effect.
func TestForgedManagement(t *testing.T) {
	client, err := rdmacm.New(rdmacm.Config{Seed: 9})
	require.NoError(t, err)
	_, err = client.Connect(rdmacm.Dial{Offer: rdmacm.Offer{QPN: 0x77},
		Local: netip.MustParseAddr("10.0.0.1"), Peer: netip.MustParseAddr("10.0.0.2"),
		Service: rdmacm.TCPService(cmPort), MTU: units.KiB}, 0)
	require.NoError(t, err)
	request, _ := client.Emit()
	type forged struct {
		name  string
		op    wire.Opcode // 0 is UD SEND ONLY
		len   int         // 0 is 256
		qkey  uint32      // 0 is the right one
		src   wire.QPN    // 0 is 1
		addr  func(*wire.Address)
		spoil func([]byte) []byte
		count func(*Stats) uint64
	}
	for _, c := range []forged{
		{name: "none", count: func(c *Stats) uint64 { return c.ManagementReceived }},
		{name: "wrong Q_Key", qkey: 0x11111111, count: func(c *Stats) uint64 {
			return c.DropQKey
		}},
		{name: "too short", len: 252, count: func(c *Stats) uint64 { return c.DropManagement }},
		{name: "too long", len: 260, count: func(c *Stats) uint64 { return c.DropManagement }},
		{name: "from another queue pair", src: 0x11, count: func(c *Stats) uint64 {
			return c.DropManagement
		}},
		{name: "from queue pair 0", src: wire.PSNMask + 1, count: func(c *Stats) uint64 {
			return c.DropManagement
		}},
		{name: "other partition", addr: func(a *wire.Address) {
			a.PKey = 0x8001
		}, count: func(c *Stats) uint64 { return c.DropPKey }},
		{name: "not our address", addr: func(a *wire.Address) {
			a.Dst = netip.MustParseAddr("10.0.0.3")
		}, count: func(c *Stats) uint64 { return c.DropDestination }},
		{name: "with immediate data", op: wire.UDSendOnlyImm, count: func(c *Stats) uint64 {
			return c.DropWrongService
		}},
		{name: "of another service", op: wire.RCSendOnly, count: func(c *Stats) uint64 {
			return c.DropWrongService
		}},
		{name: "a bit wrong", spoil: func(f []byte) []byte {
			f[100] ^= 1
			return f
		}, count: func(c *Stats) uint64 { return c.DropICRC }},
		{name: "cut off", spoil: func(f []byte) []byte {
			return f[:200]
		}, count: func(c *Stats) uint64 { return c.DropTruncated }},
		{name: "to queue pair 0", addr: func(a *wire.Address) {
			a.DestQP = 0
		}, count: func(c *Stats) uint64 { return c.DropUnknownQP }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			b := newManaged(t, p.b, 2)
			require.NoError(t, b.cm.Listen(rdmacm.TCPService(cmPort), 16))
			_, other := p.connected(defaults())
			p.settle(10 * units.Microsecond) // of ARP
			f := newForger(p, other)
			f.addr.DestQP = rdmacm.QPN
			if c.addr != nil {
				c.addr(&f.addr)
			}
			op, size, qkey, src := wire.UDSendOnly, rdmacm.MADLen, rdmacm.QKey, rdmacm.QPN
			if c.op != 0 {
				op = c.op
			}
			if c.len != 0 {
				size = c.len
			}
			if c.qkey != 0 {
				qkey = c.qkey
			}
			if c.src != 0 {
				src = c.src
			}
			was := p.b.counters
			f.send(wire.Fields{Op: op}, size, func(ext []byte) {
				if c.op == 0 {
					wire.View[wire.DETH](ext).Set(qkey, src&wire.PSNMask)
					copy(ext[wire.DETHLen:], request.MAD[:])
				}
			}, c.spoil)
			p.settle(units.Microsecond)
			require.EqualValues(t, 1, c.count(&p.b.counters)-c.count(&was), "%+v", p.b.counters)
			require.Equal(t, ReadyToSend, other.qp.State())
			if c.name == "none" {
				require.Equal(t, []rdmacm.EventKind{rdmacm.ConnectRequest}, b.events)
				return
			}
			require.Empty(t, b.events)
			require.Zero(t, b.cm.Len())
			require.Zero(t, b.cm.Counters())
			require.Equal(t, was.TxFrames, p.b.counters.TxFrames, "no answer")
		})
	}
}

// FuzzManagement feeds arbitrary datagrams to queue pair 1: the endpoint must not panic, lose a
// buffer, or answer what is not addressed to it.
func FuzzManagement(f *testing.F) {
	client, err := rdmacm.New(rdmacm.Config{Seed: 9})
	require.NoError(f, err)
	_, err = client.Connect(rdmacm.Dial{Offer: rdmacm.Offer{QPN: 0x77},
		Local: netip.MustParseAddr("10.0.0.1"), Peer: netip.MustParseAddr("10.0.0.2"),
		Service: rdmacm.TCPService(cmPort), MTU: units.KiB}, 0)
	require.NoError(f, err)
	request, _ := client.Emit()
	for _, op := range []wire.Opcode{wire.UDSendOnly, wire.UDSendOnlyImm, wire.RCSendOnly,
		wire.CNP} {
		f.Add(byte(op), uint16(0xffff), rdmacm.QKey, uint32(rdmacm.QPN), request.MAD[:])
		f.Add(byte(op), uint16(1), uint32(7), uint32(2), request.MAD[:100])
	}
	f.Fuzz(func(t *testing.T, op byte, pkey uint16, qkey, src uint32, payload []byte) {
		p := newPair(t)
		b := newManaged(t, p.b, 2)
		require.NoError(t, b.cm.Listen(rdmacm.TCPService(cmPort), 16))
		_, other := p.connected(defaults())
		p.settle(10 * units.Microsecond)
		fg := newForger(p, other)
		fg.addr.DestQP, fg.addr.PKey = rdmacm.QPN, pkey
		for range 3 {
			fg.send(wire.Fields{Op: wire.Opcode(op)}, min(len(payload), 2048), func(ext []byte) {
				wire.View[wire.DETH](ext).Set(qkey, wire.QPN(src)&wire.PSNMask)
				copy(ext[wire.DETHLen:len(ext)-2048], payload[:min(len(payload), 2048)])
			}, nil)
		}
		p.settle(10 * units.Millisecond)
		require.Equal(t, ReadyToSend, other.qp.State())
		if p.b.counters.ManagementReceived == 0 {
			require.Zero(t, p.b.counters.ManagementSent)
		}
		p.a.Close()
		p.b.Close()
		require.Zero(t, p.lb.out-len(p.lb.inbox))
	})
}

func TestManageOnce(t *testing.T) {
	p := newPair(t)
	cm, err := rdmacm.New(rdmacm.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, p.a.Setup().Manage(nil), ErrInvalid)
	require.NoError(t, p.a.Setup().Manage(cm))
	require.ErrorIs(t, p.a.Setup().Manage(cm), ErrInvalid)
}

func TestManagementAllocatesNothingPerPacket(t *testing.T) {
	p, as, bs := crossedPair(t, defaults(), 1)
	newManaged(t, p.a, 1)
	newManaged(t, p.b, 2)
	s := newStream(p, as[0], bs[0], OpSend, 32)
	s.burst(packet.Burst)
	require.Zero(t, testing.AllocsPerRun(50, func() { s.burst(packet.Burst) }))
}
