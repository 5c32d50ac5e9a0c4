package goroce

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect"
)

// Clients that say nothing, or the wrong thing, delay nobody.
func TestSilentClients(t *testing.T) {
	client, server := openPair(t, t.Name())
	l, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan *Conn)
	go func() {
		for {
			c, err := l.Accept(context.Background())
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	for _, says := range []string{"", "GRCE", "GRCE\x00\x00\x10\x00{", "GET / HTTP/1.1\r\n\r\n"} {
		tcp, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer tcp.Close()
		_, err = tcp.Write([]byte(says))
		require.NoError(t, err)
	}
	dialed, err := client.Dial(context.Background(), l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, (<-accepted).Close())
	require.NoError(t, dialed.Close())
	require.NoError(t, l.Close())
	_, more := <-accepted
	require.False(t, more, "Close ends Accept")
}

// A server whose address a client names wrongly says so.
func TestRefusedHandshake(t *testing.T) {
	_, server := openPair(t, t.Name())
	l, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, c := range []struct {
		spoil func(*connect.Hello)
		says  string
	}{
		{func(h *connect.Hello) { h.QPs = nil }, "the peer brings 0 queue pairs"},
		{func(h *connect.Hello) { h.PathMTU = 300 }, "path MTU"},
	} {
		tcp, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		mine := &connect.Hello{Addr: server.Addrs()[0].Addr(), PathMTU: 1024,
			QPs: []connect.QP{{Num: 17}}}
		c.spoil(mine)
		_, err = connect.Exchange(context.Background(), tcp, mine)
		require.ErrorIs(t, err, connect.ErrRefused)
		require.ErrorContains(t, err, c.says)
		require.NoError(t, tcp.Close())
	}
}

// An Accept that was cancelled ends nothing but itself.
func TestCancelledAccept(t *testing.T) {
	client, server := openPair(t, t.Name())
	l, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	over, cancel := context.WithCancel(context.Background())
	waiting := make(chan error)
	go func() { _, err := l.Accept(over); waiting <- err }()
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	dialed, err := client.Dial(context.Background(), l.Addr().String())
	require.NoError(t, err)
	_, err = l.Accept(over)
	require.ErrorIs(t, err, context.Canceled, "although there is a connection to accept")
	accepted, err := l.Accept(context.Background())
	require.NoError(t, err)
	require.NoError(t, accepted.Close())
	require.NoError(t, dialed.Close())
}

func TestHostCloseEndsAccept(t *testing.T) {
	_, server := openPair(t, t.Name())
	l, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	waiting := make(chan error)
	go func() { _, err := l.Accept(context.Background()); waiting <- err }()
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-waiting, ErrClosed)
	require.NoError(t, l.Close())
	late, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	_, err = late.Accept(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	_, err = server.Dial(context.Background(), l.Addr().String())
	require.ErrorIs(t, err, ErrClosed)
}
