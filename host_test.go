package goroce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
)

// openPair opens both ends of a loop.
func openPair(t testing.TB, name string) (a, b *Host) {
	var hosts [2]*Host
	for i := range hosts {
		h, err := Open("loop:"+name, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	return hosts[0], hosts[1]
}

// dialed is a connection between two hosts, both ends.
func dialed(t testing.TB, a, b *Host) (client, server *Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := b.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	type accepted struct {
		c   *Conn
		err error
	}
	ch := make(chan accepted, 1)
	go func() {
		c, err := l.Accept(ctx)
		ch <- accepted{c, err}
	}()
	client, err = a.Dial(ctx, l.Addr().String())
	require.NoError(t, err)
	got := <-ch
	require.NoError(t, got.err)
	return client, got.c
}

func TestMessagesBothWays(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	const n = 500 // more than a connection has slots
	errs := make(chan error, 2)
	for _, way := range []struct{ from, to *Conn }{{client, server}, {server, client}} {
		go func() {
			for i := range n {
				if err := way.from.Send(ctx, bytes.Repeat([]byte{byte(i)}, i*100)); err != nil {
					errs <- fmt.Errorf("send %d: %w", i, err)
					return
				}
			}
			errs <- nil
		}()
	}
	buf := make([]byte, MaxMessage)
	for _, c := range []*Conn{server, client} {
		for i := range n {
			got, err := c.Recv(ctx, buf)
			require.NoError(t, err)
			require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(i)}, i*100), buf[:got]),
				"message %d", i)
		}
	}
	for range 2 {
		require.NoError(t, <-errs)
	}
	require.NoError(t, client.Send(ctx, []byte("last words")))
	require.NoError(t, client.Close())
	got, err := server.Recv(ctx, buf)
	require.NoError(t, err)
	require.Equal(t, "last words", string(buf[:got]))
	_, err = server.Recv(ctx, buf)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, server.Close())
}

func TestMisuse(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	ctx := context.Background()
	require.ErrorIs(t, client.Send(ctx, make([]byte, MaxMessage+1)), transport.ErrInvalid)
	require.NoError(t, client.Send(ctx, []byte("0123456789")))
	n, err := server.Recv(ctx, make([]byte, 4))
	require.ErrorIs(t, err, io.ErrShortBuffer)
	require.Equal(t, 4, n)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = server.Recv(short, make([]byte, 4))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, client.Close())
	require.ErrorIs(t, client.Send(ctx, nil), ErrClosed)
	require.NoError(t, server.Close())
	_, err = Open("loop:"+t.Name(), Options{})
	require.ErrorContains(t, err, "both ends")
	_, err = Open("nonsense:", Options{})
	require.ErrorContains(t, err, "loop:")
	_, err = a.Dial(short, "127.0.0.1:1")
	require.Error(t, err)
}

func TestHostClosesUnderLoad(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	done := make(chan error)
	go func() {
		for {
			if err := client.Send(ctx, make([]byte, 1000)); err != nil {
				done <- err
				return
			}
		}
	}()
	_, err := server.Recv(ctx, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-done, ErrClosed)
	require.ErrorIs(t, a.Do(0, func(*transport.Endpoint) {}), ErrClosed)
	require.True(t, errors.Is(client.Close(), nil))
}
