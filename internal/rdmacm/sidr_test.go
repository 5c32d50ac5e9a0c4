package rdmacm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// deliver moves the datagrams of one machine to another.
func deliverAll(from, to *Machine, now units.Time) {
	for d, ok := from.Emit(); ok; d, ok = from.Emit() {
		to.Receive(d.Peer, d.Local, d.MAD[:], now)
	}
}

func lookupPair(t *testing.T) (client, server *Machine, target Target) {
	client, err := New(Config{GUID: 1, Seed: 1})
	require.NoError(t, err)
	server, err = New(Config{GUID: 2, Seed: 2})
	require.NoError(t, err)
	return client, server, Target{Local: clientIP, Peer: serverIP, Service: UDPService(7174),
		SourcePort: 40000, Private: []byte("who")}
}

func TestLookup(t *testing.T) {
	client, server, target := lookupPair(t)
	require.NoError(t, server.Listen(target.Service, 1))
	l, err := client.Lookup(target, 0)
	require.NoError(t, err)
	l.Context = t
	deliverAll(client, server, 0)
	ev, ok := server.Event()
	require.True(t, ok)
	require.Equal(t, LookupRequest, ev.Kind)
	require.Equal(t, "who", string(ev.Private[:3]))
	require.Equal(t, clientIP, ev.Lookup.Peer())

	// repeated before the answer: no second request
	client.Poll(units.Time(0).Add(10 * units.Second))
	deliverAll(client, server, 0)
	_, ok = server.Event()
	require.False(t, ok)

	rep := SIDRREP{QPN: 0x123, QKey: 7}
	copy(rep.Private[:], "me")
	require.NoError(t, ev.Lookup.Answer(rep))
	require.ErrorIs(t, ev.Lookup.Answer(rep), ErrState)
	deliverAll(server, client, 0)
	ev, ok = client.Event()
	require.True(t, ok)
	require.Equal(t, LookupResponse, ev.Kind)
	require.Same(t, l, ev.Lookup)
	require.EqualValues(t, 0x123, ev.Answer.QPN)
	require.Equal(t, "me", string(ev.Private[:2]))
	require.Empty(t, client.lookups.ours)
	require.Empty(t, server.lookups.theirs)
	require.Empty(t, client.deadlines)
	require.Empty(t, server.deadlines)
}

func TestLookupRefused(t *testing.T) {
	client, server, target := lookupPair(t)
	_, err := client.Lookup(target, 0)
	require.NoError(t, err)
	deliverAll(client, server, 0)
	deliverAll(server, client, 0)
	ev, ok := client.Event()
	require.True(t, ok)
	require.Equal(t, LookupNoService, ev.Answer.Status)

	// no response
	_, err = client.Lookup(target, 0)
	require.NoError(t, err)
	now := units.Time(0)
	for range 20 {
		now = now.Add(10 * units.Second)
		client.Poll(now)
	}
	ev, ok = client.Event()
	require.True(t, ok)
	require.Equal(t, Unreachable, ev.Kind)
	require.Equal(t, Timeout, ev.Reason)

	target.Private = make([]byte, MaxLookupPrivate+1)
	_, err = client.Lookup(target, 0)
	require.ErrorIs(t, err, ErrInvalid)
}
