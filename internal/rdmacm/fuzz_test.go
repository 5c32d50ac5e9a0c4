package rdmacm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// everyMessage returns one message of each kind.
func everyMessage() []Message {
	return append(captured(),
		&REJ{LocalID: serverID, RemoteID: clientID, Reason: ConsumerReject, Rejected: StageREP,
			InfoLen: 8},
		&MRA{LocalID: serverID, RemoteID: clientID, Received: StageREP, ServiceTimeout: 24},
		&SIDRREQ{RequestID: clientID, PKey: 0xffff, Service: UDPService(7174)},
		&SIDRREP{RequestID: clientID, QPN: 0x11, QKey: 0x01234567, Service: UDPService(7174)},
		&LAP{LocalID: serverID, RemoteID: clientID}, &APR{LocalID: serverID, RemoteID: clientID,
			Status: 2})
}

// FuzzParse checks that arbitrary bytes are an error, or a message that survives a round trip.
func FuzzParse(f *testing.F) {
	for _, m := range everyMessage() {
		f.Add(Append(nil, transaction, m))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, mad []byte) {
		tid, m, err := Parse(mad)
		if err != nil {
			require.ErrorIs(t, err, ErrMAD)
			return
		}
		tid2, m2, err := Parse(Append(nil, tid, m))
		require.NoError(t, err)
		require.Equal(t, tid, tid2)
		require.Equal(t, m, m2)
		if req, ok := m.(*REQ); ok {
			if h, err := ParseIPHeader(req.Private[:]); err == nil {
				var private [ipHeaderLen]byte
				h.Put(private[:])
				again, err := ParseIPHeader(private[:])
				require.NoError(t, err)
				require.Equal(t, h, again)
			}
		}
	})
}

// FuzzMachine checks for arbitrary datagrams, calls and times that the machine does not panic,
// keeps its limits, and removes all connections in the end. The input is a program of three-byte
// steps: operation and two operands.
func FuzzMachine(f *testing.F) {
	// passive, to its end
	f.Add([]byte{0, 0, 0, 3, 0, 0, 0, 2, 0, 3, 4, 0, 1, 40, 0, 0, 3, 0})
	f.Add([]byte{2, 0, 0, 0, 1, 0, 3, 1, 0, 3, 4, 0, 0, 4, 0, 1, 200, 0}) // active
	// duplicates and strangers
	f.Add([]byte{0, 0, 0, 0, 0, 0, 4, 35, 9, 0, 0, 0, 0, 6, 0, 0, 5, 0, 0, 7, 0, 0, 8, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		m, err := New(Config{Seed: 1, MaxConns: 6, MaxTimeout: 26})
		require.NoError(t, err)
		require.NoError(t, m.Listen(TCPService(serverPort), 4))
		var now units.Time
		var conns []*Conn
		receive := func() {
			for e, ok := m.Event(); ok; e, ok = m.Event() {
				if e.Kind == ConnectRequest {
					conns = append(conns, e.Conn)
				}
			}
		}
		pick := func(by uint8) *Conn {
			if len(conns) == 0 {
				return nil
			}
			return conns[len(conns)-1-int(by)%len(conns)]
		}
		patches := map[int]byte{} // to the next datagram
		for ; len(steps) >= 3; steps = steps[3:] {
			a, b := steps[1], steps[2]
			switch steps[0] % 6 {
			case 0:
				kinds := everyMessage()
				mad := Append(nil, uint64(b), kinds[int(a)%len(kinds)])
				if c := pick(b >> 4); c != nil && int(a)%len(kinds) > 0 {
					putIDs(mad[madHead:], c.remote, c.id)
					if c.remote == 0 {
						putIDs(mad[madHead:], CommID(b)+1, c.id)
					}
				} else if c == nil || b != 0 {
					be.PutUint32(mad[madHead:], uint32(b)+1)
					put24(mad[madHead+32:], wire.QPN(b)+2, 1)
				}
				for at, value := range patches {
					mad[at] = value
				}
				clear(patches)
				m.Receive(serverIP, clientIP, mad, now)
			case 1:
				now = now.Add(units.Duration(a) * units.Second / 10)
				next := m.Poll(now)
				require.True(t, next.After(now))
			case 2:
				d := clientDial()
				d.Local, d.Peer, d.QPN = serverIP, clientIP, wire.QPN(a)+1
				if c, err := m.Connect(d, now); err == nil {
					conns = append(conns, c)
				}
			case 3:
				receive()
				c := pick(b)
				if c == nil {
					continue
				}
				switch a % 6 {
				case 0:
					_ = c.Accept(serverOffer, now)
				case 1:
					_ = c.Confirm()
				case 2:
					_ = c.Reject(Reason(b), nil)
				case 3:
					_ = c.NotifyEstablished(now)
				default:
					c.Disconnect(now)
				}
			case 4:
				patches[int(a)] = b
			case 5:
				m.emitted(t)
			}
			check(t, m)
		}
		receive()
		for _, c := range conns {
			c.Disconnect(now)
		}
		for range 1000 { // established ones leave by DREQ, all others by their deadlines
			m.events = nil
			now = m.Poll(now)
			if m.Len() == 0 {
				break
			}
		}
		empty(t, m)
	})
}

// check checks the limits, and that every connection has a way to end.
func check(t *testing.T, m *Machine) {
	require.LessOrEqual(t, m.Len(), m.config.MaxConns)
	require.LessOrEqual(t, len(m.requests), m.Len())
	require.LessOrEqual(t, len(m.peers), m.Len())
	require.LessOrEqual(t, len(m.deadlines), m.Len())
	require.LessOrEqual(t, len(m.out), maxDatagrams)
	require.LessOrEqual(t, len(m.events), 2*m.config.MaxConns+4*m.config.MaxConns)
	pending := map[*listener]int{}
	for id, c := range m.conns {
		require.Equal(t, id, c.id)
		require.NotEqual(t, closed, c.state)
		require.Equal(t, c.state != established, c.heapIndex >= 0, c.state)
		if c.listener != nil {
			pending[c.listener]++
		}
	}
	for _, l := range m.listeners {
		require.Len(t, l.halfOpen, pending[l])
		require.LessOrEqual(t, len(l.halfOpen), l.backlog)
	}
	total := 0
	for _, n := range m.halfOpen {
		require.Positive(t, n)
		total += n
	}
	for _, n := range pending {
		total -= n
	}
	require.Zero(t, total)
}
