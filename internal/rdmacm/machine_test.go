package rdmacm

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const (
	try  = 4096*units.Nanosecond<<20 + 2*(4096*units.Nanosecond<<18) // one try by the default codes
	wait = 4096 * units.Nanosecond << 19                             // timewait
)

// empty checks that a machine holds nothing of any connection.
func empty(t testing.TB, m *Machine) {
	t.Helper()
	assert.Empty(t, m.conns)
	assert.Empty(t, m.requests)
	assert.Empty(t, m.peers)
	assert.Empty(t, m.deadlines)
	assert.Empty(t, m.halfOpen)
	for _, l := range m.listeners {
		assert.Empty(t, l.halfOpen)
	}
}

// TestLost checks that connections are established and closed when any single message is lost.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   Message
		nth    []int
		repeat [2]uint64 // messages that client and server retransmit
		again  [2]uint64 // duplicates that they reply to
	}{
		{name: "nothing", kind: &APR{}},
		{name: "REQ", kind: &REQ{}, nth: []int{1}, repeat: [2]uint64{1, 0}},
		{name: "REQ 15 times", kind: &REQ{}, nth: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
			14, 15}, repeat: [2]uint64{15, 0}},
		// Both have the same timeout; the server's REP is sent again before the client's REQ
		// arrives.
		{name: "REP", kind: &REP{}, nth: []int{1}, repeat: [2]uint64{1, 1}, again: [2]uint64{1, 1}},
		{name: "RTU", kind: &RTU{}, nth: []int{1}, repeat: [2]uint64{0, 1}, again: [2]uint64{1, 0}},
		{name: "RTU twice", kind: &RTU{}, nth: []int{1, 2}, repeat: [2]uint64{0, 2},
			again: [2]uint64{2, 0}},
		{name: "DREQ", kind: &DREQ{}, nth: []int{1}, repeat: [2]uint64{1, 0}},
		// after the server's timewait: it replies although the ID is unknown
		{name: "DREP", kind: &DREP{}, nth: []int{1}, repeat: [2]uint64{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			n.drop(c.kind, c.nth...)
			conn := n.connect()
			n.later(17 * try)
			client, server := n.ends[0], n.ends[1]
			require.Equal(t, established, conn.state)
			require.Equal(t, established, server.conn.state)
			conn.Disconnect(n.now)
			n.later(3 * try)
			assert.Equal(t, []EventKind{ConnectResponse, Disconnected, TimewaitExit}, client.told)
			assert.Equal(t, []EventKind{ConnectRequest, Established, Disconnected, TimewaitExit},
				server.told)
			for i, e := range n.ends {
				assert.Equal(t, c.repeat[i], e.counters.Retransmitted, "repeated by %d", i)
				assert.Equal(t, c.again[i], e.counters.Duplicates, "answered again by %d", i)
				empty(t, e.Machine)
			}
		})
	}
}

// TestTimeout covers each kind of message being lost every time.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name           string
		kind           Message
		client, server []EventKind
	}{
		{"REQ", &REQ{}, []EventKind{Unreachable}, nil},
		{"REP", &REP{}, []EventKind{Unreachable}, []EventKind{ConnectRequest, Unreachable,
			TimewaitExit}},
		{"RTU", &RTU{}, []EventKind{ConnectResponse, Disconnected, TimewaitExit},
			[]EventKind{ConnectRequest, Unreachable, TimewaitExit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			n.drop(c.kind)
			n.connect()
			n.later(18 * try)
			assert.Equal(t, c.client, n.ends[0].told)
			assert.Equal(t, c.server, n.ends[1].told)
			empty(t, n.ends[0].Machine)
			empty(t, n.ends[1].Machine)
		})
	}
}

// TestGivesUp checks that a REQ is sent 1 + MaxRetries times with the same bytes, then a REJ.
func TestGivesUp(t *testing.T) {
	m := golden(t, clientGUID, clientID)
	_, err := m.Connect(clientDial(), 0)
	require.NoError(t, err)
	var now units.Time
	for i := range 16 {
		d, ok := m.Emit()
		require.True(t, ok, "try %d", i)
		be.PutUint64(d.MAD[8:], transaction)
		require.Equal(t, capture(t)[0], d)
		next := m.Poll(now)
		require.Equal(t, now.Add(try), next)
		m.Poll(next.Add(-1))
		require.Empty(t, m.out, "too early")
		now = next
		m.Poll(now)
	}
	rej := &REJ{LocalID: clientID, Rejected: StageOther, Reason: Timeout, InfoLen: 8}
	be.PutUint64(rej.Info[:], clientGUID)
	assert.Equal(t, []Message{rej}, m.emitted(t))
	e, _ := m.Event()
	assert.Equal(t, Unreachable, e.Kind)
	empty(t, m)
	assert.Equal(t, now.Add(units.Forever), m.Poll(now))
}

// TestDisconnectUnanswered checks that a connection ends after all tries without a DREP.
func TestDisconnectUnanswered(t *testing.T) {
	n := newNetwork(t, Config{MaxRetries: 3})
	n.drop(&DREQ{})
	c := n.connect()
	n.later(try)
	c.Disconnect(n.now)
	n.later(4*try - 1)
	assert.Equal(t, dreqSent, c.state)
	n.later(1 + oneWay)
	assert.Equal(t, timewait, c.state)
	assert.Equal(t, Event{Kind: Disconnected, Reason: Timeout, Conn: c}, n.ends[0].last)
	n.later(wait - oneWay)
	assert.Equal(t, timewait, c.state)
	n.later(oneWay)
	assert.Equal(t, closed, c.state)
	empty(t, n.ends[0].Machine)
}

// TestDisconnectCrossing covers DREQs of both sides at the same time.
func TestDisconnectCrossing(t *testing.T) {
	n := newNetwork(t, Config{})
	c := n.connect()
	n.later(try)
	c.Disconnect(n.now)
	n.ends[1].conn.Disconnect(n.now)
	n.later(try)
	for i, want := range [][]EventKind{
		{ConnectResponse, Disconnected, TimewaitExit}, {ConnectRequest, Established, Disconnected,
			TimewaitExit},
	} {
		assert.Equal(t, want, n.ends[i].told)
		assert.Zero(t, n.ends[i].counters.Retransmitted)
		empty(t, n.ends[i].Machine)
	}
}

// TestDisconnectEarly covers Disconnect before the connection is established.
func TestDisconnectEarly(t *testing.T) {
	for _, c := range []struct {
		name           string
		mute           int // whose program does not decide
		drop           Message
		by             int
		client, server []EventKind
	}{
		{"REQ sent", 1, &APR{}, 0, nil, []EventKind{ConnectRequest, Rejected}},
		{"REQ received", 1, &APR{}, 1, []EventKind{Rejected}, []EventKind{ConnectRequest}},
		{"REP received", 0, &APR{}, 0, []EventKind{ConnectResponse},
			[]EventKind{ConnectRequest, Rejected, TimewaitExit}},
		{"REP sent", 0, &APR{}, 1, []EventKind{ConnectResponse, Rejected},
			[]EventKind{ConnectRequest, TimewaitExit}},
		{"RTU lost", 2, &RTU{}, 0, []EventKind{ConnectResponse, Disconnected, TimewaitExit},
			[]EventKind{ConnectRequest, Disconnected, TimewaitExit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			n.drop(c.drop)
			if c.mute < 2 {
				n.ends[c.mute].mute = true
			}
			n.connect()
			n.later(5 * oneWay)
			n.ends[c.by].conn.Disconnect(n.now)
			n.later(try)
			assert.Equal(t, c.client, n.ends[0].told)
			assert.Equal(t, c.server, n.ends[1].told)
			empty(t, n.ends[0].Machine)
			empty(t, n.ends[1].Machine)
		})
	}
}

// served returns a network whose server has received the captured REQ, with the connection in the
// state to which the server's program brought it.
func served(t *testing.T, mute bool) (*network, *Conn) {
	n := newNetwork(t, Config{})
	n.ends[1].mute = mute
	n.say(1, captured()[0])
	e, ok := n.ends[1].Event()
	require.True(t, ok)
	n.ends[1].receive(n, e)
	return n, e.Conn
}

// TestDuplicateREQ checks the reply to a duplicate REQ in each state.
func TestDuplicateREQ(t *testing.T) {
	req := captured()[0].(*REQ)
	n, c := served(t, true)
	assert.Equal(t, []Message{&MRA{LocalID: c.id, RemoteID: clientID, ServiceTimeout: 24}},
		n.say(1, req), "the program has not decided")

	require.NoError(t, c.Accept(serverOffer, n.now))
	rep := n.ends[1].emitted(t)
	assert.Equal(t, rep, n.say(1, req), "accepted")

	assert.Empty(t, n.say(1, &RTU{LocalID: clientID, RemoteID: c.id}))
	assert.Equal(t, established, c.state)
	assert.Empty(t, n.say(1, req), "established")
	assert.Equal(t, established, c.state)

	assert.Len(t, n.say(1, &DREQ{LocalID: clientID, RemoteID: c.id, RemoteQPN: serverQPN}), 1)
	stale := []Message{&REJ{RemoteID: clientID, Reason: StaleConnection}}
	assert.Equal(t, stale, n.say(1, req), "timewait")
	assert.Equal(t, 1, n.ends[1].Len())
}

// TestStaleConnection covers a restarted peer that reuses an ID or a queue pair of an established
// connection. Because its REQ may be forged, the old connection is kept until the RTU.
func TestStaleConnection(t *testing.T) {
	t.Run("same ID", func(t *testing.T) {
		n, c := served(t, false)
		n.say(1, &RTU{LocalID: clientID, RemoteID: c.id})
		anew := *captured()[0].(*REQ)
		anew.LocalQPN++
		assert.Equal(t, []Message{&REJ{RemoteID: anew.LocalID, Reason: StaleConnection}},
			n.say(1, &anew))
		assert.Equal(t, established, c.state)
	})
	for name, prove := range map[string]func(*network, *Conn){
		"same queue pair, RTU": func(n *network, c *Conn) {
			n.say(1, &RTU{LocalID: c.remote, RemoteID: c.id})
		},
		"same queue pair, packet": func(n *network, c *Conn) {
			n.ends[1].NotifyEstablished(c.qpn, n.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, old := served(t, false)
			n.say(1, &RTU{LocalID: clientID, RemoteID: old.id})
			anew := *captured()[0].(*REQ)
			anew.LocalID++
			n.say(1, &anew)
			n.ends[1].Event() // the old one's
			e, ok := n.ends[1].Event()
			require.True(t, ok)
			n.ends[1].receive(n, e)
			n.ends[1].emitted(t)
			c := e.Conn
			require.NotSame(t, old, c)
			require.Equal(t, repSent, c.state)
			// from a host that has not received the REP
			n.say(1, &RTU{LocalID: anew.LocalID, RemoteID: c.id + 1})
			assert.Equal(t, established, old.state)

			c.qpn++ // as if it had been accepted with another queue pair than the old one
			prove(n, c)
			assert.Equal(t, established, c.state)
			assert.Equal(t, dreqSent, old.state)
			n.say(1, &DREP{LocalID: clientID, RemoteID: old.id})
			assert.Equal(t, timewait, old.state)
			n.ends[1].Poll(n.now.Add(wait))
			assert.Equal(t, closed, old.state)
			assert.Same(t, c, n.ends[1].peers[peerQPN{clientIP, clientQPN}],
				"the old one's end is not the new one's")
		})
	}
}

// TestStaleREP covers a server that accepts with a queue pair of another connection of ours.
func TestStaleREP(t *testing.T) {
	n := newNetwork(t, Config{})
	rep := *captured()[1].(*REP)
	first := n.connect()
	rep.RemoteID = first.id
	n.say(0, &rep)
	require.NoError(t, first.Confirm())
	second := n.connect()
	n.ends[0].emitted(t)
	rep.LocalID, rep.RemoteID = rep.LocalID+1, second.id
	assert.Equal(t, []Message{
		&REJ{LocalID: second.id, RemoteID: rep.LocalID, Rejected: StageREP,
			Reason: StaleConnection},
		&DREQ{LocalID: first.id, RemoteID: serverID, RemoteQPN: serverQPN},
	}, n.say(0, &rep))
	assert.Equal(t, closed, second.state)
}

// TestRefused covers the REQs that are rejected without an event.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*REQ)
		want   Reason
	}{
		{"nobody listens", func(r *REQ) { r.Service++ }, InvalidServiceID},
		{"RD", func(r *REQ) { r.Type = 2 }, InvalidServiceType},
		{"XRC", func(r *REQ) { r.Type, r.ExtendedType = 3, 1 }, InvalidServiceType},
		{"for another host", func(r *REQ) { r.Primary.RemoteGID = clientIP }, InvalidGID},
		{"of another host", func(r *REQ) { r.Primary.LocalGID = serverIP }, Unsupported},
		{"no ID", func(r *REQ) { r.LocalID = 0 }, Unsupported},
		{"no queue pair", func(r *REQ) { r.LocalQPN = 0 }, Unsupported},
		{"MTU 0", func(r *REQ) { r.MTU = 0 }, InvalidMTU},
		{"MTU 6", func(r *REQ) { r.MTU = 6 }, InvalidMTU},
		{"no IP header", func(r *REQ) { r.Private[1] = 0 }, ConsumerReject},
		{"IP header of another family", func(r *REQ) { r.Private[1] = 6 << 4 }, ConsumerReject},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			req := captured()[0].(*REQ)
			c.change(req)
			replies := n.say(1, req)
			require.Len(t, replies, 1)
			rej := replies[0].(*REJ)
			assert.Equal(t, c.want, rej.Reason)
			assert.Equal(t, StageREQ, rej.Rejected)
			assert.Equal(t, req.LocalID, rej.RemoteID)
			assert.Equal(t, uint64(1), n.ends[1].Counters().Refused)
			assert.Empty(t, n.ends[1].events)
			empty(t, n.ends[1].Machine)
		})
	}
}

// TestReject checks that reason and private data reach the other program.
func TestReject(t *testing.T) {
	for by, want := range [][2][]EventKind{
		{{ConnectResponse}, {ConnectRequest, Rejected, TimewaitExit}},
		{{Rejected}, {ConnectRequest}},
	} {
		for _, reason := range []Reason{ConsumerReject, NoResources, InvalidMTU,
			InsufficientResources} {
			n := newNetwork(t, Config{})
			n.ends[by].reject = reason
			n.connect()
			n.later(try)
			assert.Equal(t, want[0], n.ends[0].told)
			assert.Equal(t, want[1], n.ends[1].told)
			if by == 1 {
				assert.Equal(t, reason, n.ends[0].last.Reason)
				assert.Equal(t, "no\x00", string(n.ends[0].last.Private[:3]))
			}
			empty(t, n.ends[0].Machine)
			empty(t, n.ends[1].Machine)
		}
	}
}

// TestRejectedBy covers every reason from a server without state, and from one that rejects an
// established connection.
func TestRejectedBy(t *testing.T) {
	for reason := range Reason(36) {
		n := newNetwork(t, Config{})
		c := n.connect()
		n.ends[0].emitted(t)
		assert.Empty(t, n.say(0, &REJ{RemoteID: c.id, Reason: reason}))
		e, _ := n.ends[0].Event()
		assert.Equal(t, Rejected, e.Kind)
		assert.Equal(t, reason, e.Reason)
		assert.NotEmpty(t, e.Reason.String())
		empty(t, n.ends[0].Machine)
	}
	n, c := served(t, false)
	n.say(1, &RTU{LocalID: clientID, RemoteID: c.id})
	n.say(1, &REJ{LocalID: clientID, RemoteID: c.id, Rejected: StageOther, Reason: Timeout})
	n.settle()
	assert.Equal(t, Disconnected, n.ends[1].last.Kind)
	assert.Equal(t, Timeout, n.ends[1].last.Reason)
	assert.Equal(t, timewait, c.state)
}

// TestStrangers covers messages with unknown IDs, or from an address other than the peer's.
func TestStrangers(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want []Message
	}{
		{&REP{LocalID: 1, RemoteID: 2, LocalQPN: 3},
			[]Message{&REJ{LocalID: 2, RemoteID: 1, Rejected: StageREP, Reason: InvalidCommID}}},
		{&DREQ{LocalID: 1, RemoteID: 2}, []Message{&DREP{LocalID: 2, RemoteID: 1}}},
		{&RTU{LocalID: 1, RemoteID: 2}, nil},
		{&DREP{LocalID: 1, RemoteID: 2}, nil},
		{&REJ{LocalID: 1, RemoteID: 2}, nil},
		{&REJ{LocalID: 1}, nil},
		{&MRA{LocalID: 1, RemoteID: 2}, nil},
		{&LAP{LocalID: 1, RemoteID: 2}, nil},
		{&APR{LocalID: 1, RemoteID: 2}, nil},
	} {
		n := newNetwork(t, Config{})
		assert.Equal(t, c.want, n.say(1, c.m))
		assert.Equal(t, uint64(1), n.ends[1].Counters().Unexpected)
		empty(t, n.ends[1].Machine)
	}

	n, c := served(t, false)
	n.say(1, &RTU{LocalID: clientID, RemoteID: c.id})
	counted := n.ends[1].counters
	other := netip.MustParseAddr("10.77.0.3")
	for i, m := range []Message{
		&DREQ{LocalID: clientID, RemoteID: c.id, RemoteQPN: serverQPN}, &REJ{LocalID: clientID,
			RemoteID: c.id, Reason: Timeout},
		&REP{LocalID: clientID, RemoteID: c.id, LocalQPN: 9}, &LAP{LocalID: clientID,
			RemoteID: c.id},
	} {
		n.ends[1].Receive(serverIP, other, Append(nil, 0, m), n.now)
		assert.Equal(t, counted.Unexpected+uint64(i)+1, n.ends[1].counters.Unexpected)
		assert.Equal(t, established, c.state, "%T", m)
	}
	n.say(1, &DREQ{LocalID: clientID, RemoteID: c.id, RemoteQPN: serverQPN + 1})
	assert.Equal(t, established, c.state, "a DREQ of another queue pair")
}

// TestAlternatePath checks that a LAP is refused and the connection kept.
func TestAlternatePath(t *testing.T) {
	n, c := served(t, false)
	n.say(1, &RTU{LocalID: clientID, RemoteID: c.id})
	assert.Equal(t,
		[]Message{&APR{LocalID: c.id, RemoteID: clientID, Status: alternateUnsupported}}, n.say(1,
			&LAP{LocalID: clientID, RemoteID: c.id}))
	assert.Equal(t, established, c.state)
}

// TestMRA checks that a peer is granted the requested time, once per try and at most MaxTimeout.
func TestMRA(t *testing.T) {
	n := newNetwork(t, Config{MaxTimeout: 21})
	c := n.connect()
	n.ends[0].emitted(t)
	longer := units.Duration(try + 4096*units.Nanosecond<<20) // code 21 instead of 20
	n.say(0, &MRA{LocalID: serverID, RemoteID: c.id, Received: StageREQ, ServiceTimeout: 31})
	assert.Equal(t, n.now.Add(longer), c.deadline)
	n.now = n.now.Add(try)
	n.say(0, &MRA{LocalID: serverID, RemoteID: c.id, Received: StageREQ, ServiceTimeout: 31})
	assert.Equal(t, n.now.Add(longer-try), c.deadline, "not again")
	n.now = c.deadline
	assert.Equal(t, n.now.Add(try), n.ends[0].Poll(n.now))
	assert.Len(t, n.ends[0].emitted(t), 1)
	n.say(0, &MRA{LocalID: serverID, RemoteID: c.id, Received: StageREQ, ServiceTimeout: 0})
	assert.Equal(t, n.now.Add(4096*units.Nanosecond+2*(4096*units.Nanosecond<<18)), c.deadline)
}

// TestUndecided checks that a connection ends if the program does not decide in time.
func TestUndecided(t *testing.T) {
	for mute, want := range [][2][]EventKind{
		{{ConnectResponse, Unreachable}, {ConnectRequest, Rejected, TimewaitExit}},
		{{Rejected}, {ConnectRequest, Unreachable}},
	} {
		n := newNetwork(t, Config{})
		n.ends[mute].mute = true
		n.connect()
		n.later(4096 * units.Nanosecond << 25)
		assert.Equal(t, want[0], n.ends[0].told)
		assert.Equal(t, want[1], n.ends[1].told)
		empty(t, n.ends[0].Machine)
		empty(t, n.ends[1].Machine)
	}
}

// TestNotifyEstablished checks that the client's first packet serves as its RTU.
func TestNotifyEstablished(t *testing.T) {
	for _, notify := range []func(*Conn){
		func(c *Conn) { require.NoError(t, c.NotifyEstablished(0)) },
		func(c *Conn) { c.machine.NotifyEstablished(serverOffer.QPN, 0) },
	} {
		n, c := served(t, false)
		n.ends[1].NotifyEstablished(serverOffer.QPN+1, 0)
		assert.Equal(t, repSent, c.state, "a packet of another queue pair has no effect")
		notify(c)
		n.settle()
		assert.Equal(t, []EventKind{ConnectRequest, Established}, n.ends[1].told)
		n.say(1, &RTU{LocalID: clientID, RemoteID: c.id})
		n.ends[1].NotifyEstablished(serverOffer.QPN, 0)
		assert.Empty(t, n.ends[1].events)
		assert.ErrorIs(t, c.NotifyEstablished(0), ErrState)
	}
}

// TestLimits checks the limits of backlog, connections, datagrams and events.
func TestLimits(t *testing.T) {
	n := newNetwork(t, Config{MaxConns: 20})
	server := n.ends[1]
	request := func(i int) Message {
		req := captured()[0].(*REQ)
		req.LocalID, req.LocalQPN = CommID(i+1), wire.QPN(i+2)
		replies := n.say(1, req)
		if len(replies) == 0 {
			return nil
		}
		return replies[0]
	}
	for i := range 8 {
		require.Nil(t, request(i))
	}
	assert.Equal(t, &REJ{RemoteID: 9, Reason: NoResources}, request(8), "backlog")
	establish := func() {
		for e, ok := server.Event(); ok; e, ok = server.Event() {
			if e.Kind == ConnectRequest {
				require.NoError(t, e.Conn.Accept(serverOffer, n.now))
				require.NoError(t, e.Conn.NotifyEstablished(n.now))
			}
		}
		server.emitted(t)
	}
	for i := 8; i < 18; i++ { // two places are for Connect
		establish()
		require.Nil(t, request(i))
	}
	establish()
	assert.Equal(t, &REJ{RemoteID: 21, Reason: NoResources}, request(20), "connections")
	for range 2 {
		_, err := server.Connect(clientDial(), n.now)
		assert.NoError(t, err)
	}
	_, err := server.Connect(clientDial(), n.now)
	assert.ErrorIs(t, err, ErrLimit)
	server.emitted(t)

	for range 2 * maxDatagrams {
		server.Receive(serverIP, clientIP, Append(nil, 0, &DREQ{LocalID: 1}), n.now)
	}
	assert.Len(t, server.out, maxDatagrams)
	assert.NotZero(t, server.counters.Dropped)

	n = newNetwork(t, Config{MaxConns: 2})
	for range 100 { // each leaves two events in the queue
		req := captured()[0].(*REQ)
		n.say(1, req)
		n.say(1, &REJ{LocalID: clientID, Reason: Timeout})
	}
	assert.Len(t, n.ends[1].events, 4)
	empty(t, n.ends[1].Machine)
}

// TestInvalid covers the errors of all calls.
func TestInvalid(t *testing.T) {
	for _, c := range []Config{{ResponseTimeout: 32}, {MaxRetries: 16}, {PacketLifetime: 31},
		{ACKDelay: 32}, {ServiceTimeout: 32}, {MaxTimeout: 32}, {MaxPatience: 32}, {MaxConns: -1}} {
		_, err := New(c)
		assert.ErrorIs(t, err, ErrInvalid, "%+v", c)
	}
	n := newNetwork(t, Config{})
	m := n.ends[0].Machine
	for name, change := range map[string]func(*Dial){
		"no peer":      func(d *Dial) { d.Peer = netip.Addr{} },
		"no address":   func(d *Dial) { d.Local = netip.Addr{} },
		"two families": func(d *Dial) { d.Peer = netip.MustParseAddr("fd77::2") },
		"RD":           func(d *Dial) { d.Type = 2 },
		"MTU":          func(d *Dial) { d.MTU = 1500 },
		"flow label":   func(d *Dial) { d.FlowLabel = 1 << 20 },
		"QPN":          func(d *Dial) { d.QPN = 1 << 24 },
		"no QPN":       func(d *Dial) { d.QPN = 0 },
		"PSN":          func(d *Dial) { d.PSN = 1 << 24 },
		"retry count":  func(d *Dial) { d.RetryCount = 8 },
		"RNR retry":    func(d *Dial) { d.RNRRetry = 8 },
		"private data": func(d *Dial) { d.Private = make([]byte, 57) },
	} {
		d := clientDial()
		change(&d)
		_, err := m.Connect(d, 0)
		assert.ErrorIs(t, err, ErrInvalid, name)
	}
	assert.ErrorIs(t, m.Listen(1, 0), ErrInvalid)
	assert.NoError(t, m.Listen(1, 1))
	assert.ErrorIs(t, m.Listen(1, 1), ErrInvalid)
	m.Unlisten(1)
	assert.NoError(t, m.Listen(1, 1))
	empty(t, m)

	c := n.connect()
	assert.ErrorIs(t, c.Accept(serverOffer, n.now), ErrState)
	assert.ErrorIs(t, c.Confirm(), ErrState)
	assert.ErrorIs(t, c.Reject(ConsumerReject, nil), ErrState)
	_, c = served(t, true)
	assert.ErrorIs(t, c.Accept(Offer{QPN: 2, Private: make([]byte, 197)}, 0), ErrInvalid)
	assert.ErrorIs(t, c.Reject(ConsumerReject, make([]byte, 149)), ErrInvalid)
	assert.Equal(t, reqRcvd, c.state)
}

// TestDepths checks that READs and atomics are limited by both ends.
func TestDepths(t *testing.T) {
	for _, c := range []struct {
		clientAnswers, clientAsks, serverAnswers, serverAsks, toServer,
		toClient uint8
	}{
		{1, 1, 1, 1, 1, 1},
		{16, 16, 16, 16, 16, 16},
		{4, 128, 16, 255, 16, 4},
		{0, 8, 8, 8, 8, 0},
		{8, 0, 8, 8, 0, 8},
	} {
		n := newNetwork(t, Config{})
		client := clientOffer
		client.ResponderResources, client.InitiatorDepth = c.clientAnswers, c.clientAsks
		server := &n.ends[1].offer
		server.ResponderResources, server.InitiatorDepth = c.serverAnswers, c.serverAsks
		d := clientDial()
		d.Offer = client
		conn, err := n.ends[0].Connect(d, 0)
		require.NoError(t, err)
		n.later(try / 2)
		ours, theirs := conn.QPAttr(client), n.ends[1].conn.QPAttr(*server)
		assert.Equal(t, int(c.toServer), ours.MaxRdAtomic)
		assert.Equal(t, int(c.toServer), theirs.MaxDestRdAtomic)
		assert.Equal(t, int(c.toClient), ours.MaxDestRdAtomic)
		assert.Equal(t, int(c.toClient), theirs.MaxRdAtomic)
	}
}

// TestACKTimeout checks the nearest code to two packet lifetimes plus the delay.
func TestACKTimeout(t *testing.T) {
	for _, c := range []struct{ lifetime, delay, want uint8 }{
		{18, 15, 19}, // the capture
		{18, 17, 19}, {18, 18, 20}, {18, 19, 20}, {18, 20, 21}, {18, 21, 21}, {0, 0, 2}, {30, 31,
			31},
	} {
		assert.Equal(t, c.want, ackTimeout(c.lifetime, c.delay), "%+v", c)
	}
}

// TestIPv6 connects by IPv6 addresses.
func TestIPv6(t *testing.T) {
	client, server := netip.MustParseAddr("fd77::1"), netip.MustParseAddr("fd77::2")
	n := newNetwork(t, Config{})
	d := clientDial()
	d.Local, d.Peer, d.TrafficClass = client, server, 0x6a
	_, err := n.ends[0].Connect(d, 0)
	require.NoError(t, err)
	n.later(try / 2)
	c := n.ends[1].conn
	require.Equal(t, established, c.state)
	a := c.QPAttr(serverOffer)
	assert.Equal(t, server, a.Source)
	assert.Equal(t, client, a.IP)
	assert.Equal(t, uint8(0x6a), a.TrafficClass)
	req := c.Request()
	h, err := ParseIPHeader(req.Private[:])
	require.NoError(t, err)
	assert.Equal(t, IPHeader{SourcePort: clientPort, Source: client, Destination: server}, h)
}

// TestLate covers messages that arrive after the state they belong to.
func TestLate(t *testing.T) {
	n := newNetwork(t, Config{})
	rep := *captured()[1].(*REP)
	c := n.connect()
	n.ends[0].emitted(t)
	rep.RemoteID, rep.LocalQPN = c.id, 0
	assert.Empty(t, n.say(0, &rep))
	assert.Equal(t, reqSent, c.state, "a REP of no queue pair")
	rep.LocalQPN = serverQPN
	assert.Empty(t, n.say(0, &rep))
	assert.Equal(t,
		[]Message{&MRA{LocalID: c.id, RemoteID: serverID, Received: StageREP, ServiceTimeout: 24}},
		n.say(0, &rep), "the program has not decided")
	require.NoError(t, c.Confirm())
	rtu := []Message{&RTU{LocalID: c.id, RemoteID: serverID}}
	assert.Equal(t, rtu, n.ends[0].emitted(t))
	assert.Equal(t, rtu, n.say(0, &rep), "established")
	c.Disconnect(n.now)
	n.ends[0].emitted(t)
	assert.Empty(t, n.say(0, &rep), "DREQ sent")
	n.say(0, &DREP{LocalID: serverID, RemoteID: c.id})
	assert.Equal(t,
		[]Message{&REJ{LocalID: c.id, RemoteID: serverID, Rejected: StageREP,
			Reason: StaleConnection}}, n.say(0, &rep), "timewait")
	assert.Empty(t, n.say(0, &REJ{LocalID: serverID, RemoteID: c.id}))
	assert.Equal(t, []Message{&DREP{LocalID: c.id, RemoteID: serverID}},
		n.say(0, &DREQ{LocalID: serverID, RemoteID: c.id, RemoteQPN: clientQPN}))
	assert.Equal(t, timewait, c.state)

	n, c = served(t, true)
	assert.Empty(t, n.say(1, &DREQ{LocalID: clientID, RemoteID: c.id}))
	assert.Equal(t, reqRcvd, c.state, "nothing to disconnect yet")
}
