package grpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goroce/goroce"
)

// newEcho returns a client and the server that serves it.
func newEcho(t *testing.T) (Client, *grpc.Server) {
	var hosts [2]*goroce.Host
	for i := range hosts {
		h, err := goroce.Open("loop:"+t.Name(), goroce.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	l, err := hosts[1].ListenStream("127.0.0.1:0")
	require.NoError(t, err)
	s := NewServer(grpc.MaxRecvMsgSize(16 << 20))
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	c, err := Dial(hosts[0], l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		s.Stop()
		require.NoError(t, <-done)
	})
	return c, s
}

func TestUnary(t *testing.T) {
	c, _ := newEcho(t)
	for _, n := range []int{1, 100, 100_000, 3_000_000} {
		value := bytes.Repeat([]byte("x"), n)
		got, err := c.Unary(t.Context(), value)
		require.NoError(t, err)
		require.True(t, bytes.Equal(value, got), "%d bytes", n)
	}
	_, err := c.Unary(t.Context(), nil)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "empty message")
}

func TestConcurrentCalls(t *testing.T) {
	c, _ := newEcho(t)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 20 {
				value := fmt.Append(nil, i, k)
				if got, err := c.Unary(t.Context(), value); err != nil || !bytes.Equal(got, value) {
					t.Error(string(got), err)
				}
			}
		})
	}
	all.Wait()
}

func TestDeadline(t *testing.T) {
	c, _ := newEcho(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s, err := c.BothWays(ctx)
	require.NoError(t, err)
	err = s.RecvMsg(new(Message))
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
}

func TestStreams(t *testing.T) {
	c, _ := newEcho(t)
	n := 0
	require.NoError(t, c.Repeat(t.Context(), []byte{200, 1}, func(value []byte) {
		require.Equal(t, []byte{200, 1}, value)
		n++
	}))
	require.Equal(t, 200, n)

	s, err := c.BothWays(t.Context())
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, s.SendMsg(wrapperspb.Bytes(fmt.Append(nil, i))))
		m := new(Message)
		require.NoError(t, s.RecvMsg(m))
		require.Equal(t, fmt.Sprint(i), string(m.Value))
	}
	require.NoError(t, s.CloseSend())
	require.ErrorIs(t, s.RecvMsg(new(Message)), io.EOF)
}

// A stop lets a call finish, and refuses further ones.
func TestGracefulStop(t *testing.T) {
	c, server := newEcho(t)
	s, err := c.BothWays(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.SendMsg(wrapperspb.Bytes([]byte("a"))))
	require.NoError(t, s.RecvMsg(new(Message)))
	stopped := make(chan struct{})
	go func() { server.GracefulStop(); close(stopped) }()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, s.SendMsg(wrapperspb.Bytes([]byte("b"))))
	require.NoError(t, s.RecvMsg(new(Message)))
	require.NoError(t, s.CloseSend())
	require.ErrorIs(t, s.RecvMsg(new(Message)), io.EOF)
	<-stopped
	_, err = c.Unary(t.Context(), []byte("c"))
	require.Equal(t, codes.Unavailable, status.Code(err))
}
