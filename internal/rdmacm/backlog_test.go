package rdmacm

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// flood is a machine with services that accepts everything, and its events.
type flood struct {
	*Machine
	t      *testing.T
	now    units.Time
	conns  []*Conn // asked for, in order
	events map[*Conn][]EventKind
}

func newFlood(t *testing.T, services, backlog int, c Config) *flood {
	m, err := New(c)
	require.NoError(t, err)
	for s := range services {
		require.NoError(t, m.Listen(service(s), backlog))
	}
	return &flood{Machine: m, t: t, now: units.Time(units.Second), events: map[*Conn][]EventKind{}}
}

func service(n int) ServiceID { return TCPService(serverPort + uint16(n)) }

// ask sends a REQ with the longest timeouts and returns the connection, or nil if it is refused.
// The program accepts at once.
func (f *flood) request(peer netip.Addr, id uint32, service ServiceID) *Conn {
	r := REQ{LocalID: CommID(id), Service: service, LocalQPN: wire.QPN(id),
		LocalResponseTimeout: 31, RemoteResponseTimeout: 31,
		MaxCMRetries: 15, MTU: 3, PKey: 0xffff, Primary: Path{LocalGID: peer, RemoteGID: serverIP,
			LocalACKTimeout: 31}}
	IPHeader{Source: peer, Destination: serverIP}.Put(r.Private[:])
	before := len(f.conns)
	f.Receive(serverIP, peer, Append(nil, uint64(id), &r), f.now)
	f.receive()
	f.emitted(f.t)
	if len(f.conns) == before {
		return nil
	}
	return f.conns[before]
}

func (f *flood) receive() {
	for e, ok := f.Event(); ok; e, ok = f.Event() {
		f.events[e.Conn] = append(f.events[e.Conn], e.Kind)
		if e.Kind == ConnectRequest {
			f.conns = append(f.conns, e.Conn)
			require.NoError(f.t, e.Conn.Accept(Offer{QPN: 0x5000, PSN: 1}, f.now))
		}
	}
}

func (f *flood) confirm(c *Conn) {
	f.Receive(serverIP, c.peer, Append(nil, 1, &RTU{LocalID: c.remote, RemoteID: c.id}), f.now)
	f.receive()
}

func spoofed(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}) }

var honest = netip.MustParseAddr("10.2.0.7")

// During a flood of abandoned REQs an honest peer connects at once, and so do we.
func TestFloodOfRequests(t *testing.T) {
	for name, source := range map[string]func(int) netip.Addr{
		"of many": spoofed,
		"of one":  func(int) netip.Addr { return spoofed(1) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlood(t, 16, 128, Config{Seed: 1})
			for i := range 10_000 {
				f.request(source(i), uint32(i+1), service(i%16))
				require.LessOrEqual(t, f.Len(), 1024-1024/activeShare)
			}
			c := f.request(honest, 77, service(3))
			require.NotNil(t, c)
			f.confirm(c)
			assert.Equal(t, []EventKind{ConnectRequest, Established}, f.events[c])
			for i := range 1024 / activeShare {
				_, err := f.Connect(Dial{Offer: Offer{QPN: 5, PSN: 5}, Local: serverIP,
					Peer: honest, Service: 1, MTU: 1024}, f.now)
				require.NoError(t, err, "connection %d of our own", i)
			}
		})
	}
}

// The oldest half-open connection is displaced. Its program and its peer are notified.
func TestOldestMakesRoom(t *testing.T) {
	f := newFlood(t, 1, 4, Config{Seed: 1})
	var conns []*Conn
	for i := range 4 {
		conns = append(conns, f.request(spoofed(i), uint32(i+1), service(0)))
	}
	f.confirm(conns[0])
	conns = append(conns, f.request(spoofed(4), 5, service(0)))
	assert.Zero(t, f.Counters().Displaced, "one is established")
	require.NotNil(t, f.request(spoofed(5), 6, service(0)))
	assert.EqualValues(t, 1, f.Counters().Displaced)
	for i, want := range [][]EventKind{
		{ConnectRequest, Established}, {ConnectRequest, Unreachable, TimewaitExit},
		{ConnectRequest}, {ConnectRequest}, {ConnectRequest},
	} {
		assert.Equal(t, want, f.events[conns[i]], "connection %d", i)
	}

	n := newNetwork(t, Config{}) // notifications of both sides
	n.ends[1].mute = true
	first := n.connect()
	n.later(2 * oneWay)
	for i := range 8 {
		r := *captured()[0].(*REQ)
		r.LocalID, r.LocalQPN, r.Primary.LocalGID = CommID(i+1), wire.QPN(i+2), spoofed(i)
		n.ends[1].Receive(serverIP, spoofed(i), Append(nil, 1, &r), n.now)
	}
	n.later(2 * oneWay)
	assert.Equal(t, closed, first.state)
	assert.Equal(t, []EventKind{Rejected}, n.ends[0].told)
	assert.Equal(t, NoResources, n.ends[0].last.Reason)
}

// A peer with a quarter of the backlog does not displace others.
func TestQuotaOfASource(t *testing.T) {
	f := newFlood(t, 2, 8, Config{Seed: 1})
	var others []*Conn
	for i := range 6 {
		others = append(others, f.request(spoofed(i), uint32(i+1), service(0)))
	}
	for id := range uint32(2) {
		require.NotNil(t, f.request(honest, 100+id, service(0)), "there is room")
	}
	for id := range uint32(100) {
		require.Nil(t, f.request(honest, 200+id, service(0)))
	}
	for _, c := range others {
		require.Equal(t, []EventKind{ConnectRequest}, f.events[c])
	}
	require.NotNil(t, f.request(honest, 300, service(1)), "there is room with another service")
	require.NotNil(t, f.request(spoofed(6), 7, service(0)))
	require.Equal(t, []EventKind{ConnectRequest, Unreachable, TimewaitExit}, f.events[others[0]])
}

// Connections in timewait are displaced before half-open ones.
func TestTimewaitMakesRoom(t *testing.T) {
	f := newFlood(t, 1, 8, Config{Seed: 1, MaxConns: 8}) // seven for peers
	var conns []*Conn
	for i := range 7 {
		conns = append(conns, f.request(spoofed(i), uint32(i+1), service(0)))
	}
	f.confirm(conns[5])
	for range 2 {
		conns[5].Disconnect(f.now)
		f.Receive(serverIP, conns[5].peer,
			Append(nil, 1, &DREP{LocalID: conns[5].remote, RemoteID: conns[5].id}), f.now)
	}
	f.emitted(t)
	require.Equal(t, timewait, conns[5].state)
	require.NotNil(t, f.request(honest, 77, service(0)))
	assert.Equal(t, []EventKind{ConnectRequest, Established, Disconnected, TimewaitExit},
		f.events[conns[5]])
	assert.Equal(t, []EventKind{ConnectRequest}, f.events[conns[0]])
	for i, c := range conns { // only established ones are left: these stay
		if i != 5 {
			f.confirm(c)
		}
	}
	f.confirm(f.conns[len(f.conns)-1])
	require.Nil(t, f.request(spoofed(9), 10, service(0)))
}

// A REP is retransmitted for at most MaxPatience, whatever the timeouts of the REQ and MRAs.
func TestREPRetransmissionIsBounded(t *testing.T) {
	const most = 4096 * units.Nanosecond << 25
	for name, busy := range map[string]bool{"silent": false, "asks for more time": true} {
		t.Run(name, func(t *testing.T) {
			f := newFlood(t, 1, 8, Config{Seed: 1})
			c := f.request(spoofed(1), 1, service(0))
			begun := f.now
			for {
				next := f.Poll(f.now)
				if c.state != repSent {
					break
				}
				f.now = next
				if busy {
					f.Receive(serverIP, c.peer,
						Append(nil, 1, &MRA{LocalID: c.remote, RemoteID: c.id, Received: StageREP,
							ServiceTimeout: 31}), f.now.Add(-1))
				}
				f.emitted(t)
			}
			f.receive()
			assert.Equal(t, []EventKind{ConnectRequest, Unreachable}, f.events[c])
			assert.Equal(t, begun.Add(most), f.now)
			assert.Empty(t, f.listeners[service(0)].halfOpen)
		})
	}
}
