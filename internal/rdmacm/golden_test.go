package rdmacm

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// TestGoldenMessages checks that every datagram of Linux decodes as expected and encodes to the
// same bytes.
func TestGoldenMessages(t *testing.T) {
	for i, d := range capture(t) {
		tid, m, err := Parse(d.MAD[:])
		require.NoError(t, err)
		assert.Equal(t, transaction, tid)
		assert.Equal(t, captured()[i], m)
		assert.Equal(t, d.MAD[:], Append(nil, tid, m))
	}
}

func TestGoldenIPHeader(t *testing.T) {
	req := captured()[0].(*REQ)
	h, err := ParseIPHeader(req.Private[:])
	require.NoError(t, err)
	assert.Equal(t, IPHeader{SourcePort: clientPort, Source: clientIP, Destination: serverIP}, h)

	v6 := IPHeader{SourcePort: 1, Source: netip.MustParseAddr("fd77::1"),
		Destination: netip.MustParseAddr("fd77::2")}
	var private [ipHeaderLen]byte
	v6.Put(private[:])
	h, err = ParseIPHeader(private[:])
	require.NoError(t, err)
	assert.Equal(t, v6, h)

	for name, bad := range map[string][]byte{
		"short": private[:35], "version 1.0": append([]byte{0x10}, private[1:]...),
		"IPv5": append([]byte{0, 0x50}, private[2:]...),
	} {
		_, err = ParseIPHeader(bad)
		assert.ErrorIs(t, err, ErrMAD, name)
	}
}

// sameID sets the next ID of a machine.
type sameID CommID

func (s sameID) Uint64() uint64 { return uint64(s) << 32 }

func golden(t *testing.T, guid uint64, id CommID) *Machine {
	m, err := New(Config{GUID: guid})
	require.NoError(t, err)
	m.ids = rand.New(sameID(id))
	return m
}

var clientOffer = Offer{QPN: clientQPN, PSN: clientPSN, ResponderResources: 1, InitiatorDepth: 1,
	RetryCount: 7, RNRRetry: 7}
var serverOffer = Offer{QPN: serverQPN, PSN: serverPSN, ResponderResources: 1, InitiatorDepth: 1,
	RNRRetry: 7}

func clientDial() Dial {
	return Dial{Offer: clientOffer, Local: clientIP, Peer: serverIP,
		Service:    TCPService(serverPort),
		SourcePort: clientPort, MTU: 4096, FlowLabel: 0x30788}
}

// TestGoldenActive checks that a machine with the input of rping's client sends the same bytes,
// except for the transaction ID.
func TestGoldenActive(t *testing.T) {
	frames := capture(t)
	m := golden(t, clientGUID, clientID)
	says := func(want Datagram) {
		t.Helper()
		got, ok := m.Emit()
		require.True(t, ok)
		be.PutUint64(got.MAD[8:], transaction)
		assert.Equal(t, want, got)
	}
	c, err := m.Connect(clientDial(), 0)
	require.NoError(t, err)
	says(frames[0])

	m.Receive(clientIP, serverIP, frames[1].MAD[:], 0)
	e, _ := m.Event()
	require.Equal(t, ConnectResponse, e.Kind)
	assert.Equal(t, QPAttr{
		PKey: 0xffff, Source: clientIP, IP: serverIP, HopLimit: 64, FlowLabel: 0x30788,
		PathMTU: 4096, DestQPN: serverQPN, RecvPSN: clientPSN, MaxDestRdAtomic: 1,
		SendPSN: serverPSN, Timeout: 19, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 1,
	}, c.QPAttr(clientOffer))
	require.NoError(t, c.Confirm())
	says(frames[2])

	c.Disconnect(0)
	says(frames[3])
	m.Receive(clientIP, serverIP, frames[4].MAD[:], 0)
	e, _ = m.Event()
	assert.Equal(t, Disconnected, e.Kind)
	assert.Equal(t, timewait, c.state)
	assert.Zero(t, m.Counters())
}

// TestGoldenPSN checks that rping's ends start with the PSNs that the machines return.
func TestGoldenPSN(t *testing.T) {
	first := map[wire.QPN]wire.PSN{} // of the requests to a queue pair
	packets(t, func(p *wire.Packet) {
		if _, known := first[p.DestQP]; !known && p.Op.Info().Request && p.Op != wire.UDSendOnly {
			first[p.DestQP] = p.PSN
		}
	})
	assert.Equal(t, map[wire.QPN]wire.PSN{clientQPN: clientPSN, serverQPN: serverPSN}, first)
}

// TestGoldenPassive checks that a machine with the input of rping's server sends the same bytes.
func TestGoldenPassive(t *testing.T) {
	frames := capture(t)
	m := golden(t, serverGUID, serverID)
	require.NoError(t, m.Listen(TCPService(serverPort), 1))
	says := func(want Datagram) {
		t.Helper()
		got, ok := m.Emit()
		require.True(t, ok)
		assert.Equal(t, want, got)
	}
	m.Receive(serverIP, clientIP, frames[0].MAD[:], 0)
	e, _ := m.Event()
	require.Equal(t, ConnectRequest, e.Kind)
	assert.Equal(t, make([]byte, MaxRequestPrivate), e.Private)
	assert.Equal(t, QPAttr{
		PKey: 0xffff, Source: serverIP, IP: clientIP, HopLimit: 64, FlowLabel: 0x30788,
		PathMTU: 4096, DestQPN: clientQPN, RecvPSN: serverPSN, MaxDestRdAtomic: 1,
		SendPSN: clientPSN, Timeout: 19, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 1,
	}, e.Conn.QPAttr(serverOffer))
	require.NoError(t, e.Conn.Accept(serverOffer, 0))
	says(frames[1])

	m.Receive(serverIP, clientIP, frames[2].MAD[:], 0)
	e, _ = m.Event()
	assert.Equal(t, Established, e.Kind)

	m.Receive(serverIP, clientIP, frames[3].MAD[:], 0)
	says(frames[4])
	e, _ = m.Event()
	assert.Equal(t, Disconnected, e.Kind)
	assert.Zero(t, m.Counters())
}

// TestParseRefuses covers datagrams that are not messages of the communication manager.
func TestParseRefuses(t *testing.T) {
	good := Append(nil, transaction, captured()[0])
	for name, change := range map[string]func([]byte) []byte{
		"short":         func(b []byte) []byte { return b[:255] },
		"long":          func(b []byte) []byte { return append(b, 0) },
		"base version":  func(b []byte) []byte { b[0] = 2; return b },
		"class":         func(b []byte) []byte { b[1] = 3; return b },
		"class version": func(b []byte) []byte { b[2] = 1; return b },
		"method":        func(b []byte) []byte { b[3] = 1; return b },
		"ClassPortInfo": func(b []byte) []byte { b[17] = 0x01; return b },
	} {
		mad := change(bytes.Clone(good))
		_, _, err := Parse(mad)
		assert.ErrorIs(t, err, ErrMAD, name)
		m := golden(t, serverGUID, serverID)
		m.Receive(serverIP, clientIP, mad, 0)
		assert.Equal(t, Counters{Malformed: 1}, m.Counters(), name)
		assert.Empty(t, m.out, name)
	}
}
