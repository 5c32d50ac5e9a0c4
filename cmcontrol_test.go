package goroce

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
)

// connCM returns the ends of a Conn made by the connection manager.
func (w *cmWorld) connCM() (client, server *Conn) {
	done := w.serve(1, func(_ int, r *CMRequest) {
		if text(r.Private()) != "hello" {
			w.t.Errorf("private data %q", r.Private())
		}
		var err error
		if server, err = r.AcceptConn(w.ctx, nil); err != nil {
			w.t.Error(err)
		}
	})
	client, err := w.a.DialConnCM(w.ctx, w.at, []byte("hello"))
	require.NoError(w.t, err)
	<-done
	require.NotNil(w.t, server)
	return client, server
}

// A Conn of the connection manager has what other Conns have, on every endpoint.
func TestConnByCM(t *testing.T) {
	w := newCMWorld(t, 2)
	used := map[*worker]bool{}
	for range 4 {
		client, server := w.connCM()
		used[client.w], used[server.w] = true, true
		require.Equal(t, w.b.Addrs()[0].Addr(), client.RemoteAddr())
		require.NoError(t, client.SendMsg(w.ctx, []byte("message"), 7))
		buf := make([]byte, 10)
		m, err := server.RecvMsg(w.ctx, buf)
		require.NoError(t, err)
		require.EqualValues(t, 7, m.Imm)
		require.Equal(t, "message", string(buf[:m.Len]))

		theirs, mine := register(t, server, 8), register(t, client, 8)
		copy(mine.Bytes(), "12345678")
		require.NoError(t, client.Write(w.ctx, mine.All(), theirs.Remote()))
		require.Equal(t, "12345678", string(theirs.Bytes()))
		_, err = client.FetchAdd(w.ctx, theirs.Remote(), 1)
		require.NoError(t, err)

		require.NoError(t, client.Close())
		_, err = server.Recv(w.ctx, buf)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, server.Close())
	}
	require.Len(t, used, 4)
}

// A connection that is not made leaves nothing behind.
func TestConnByCMFails(t *testing.T) {
	w := newCMWorld(t, 1)
	before := holdings(t, w.a)
	done := w.serve(1, func(_ int, r *CMRequest) {
		if err := r.Reject([]byte("full")); err != nil {
			t.Error(err)
		}
	})
	_, err := w.a.DialConnCM(w.ctx, w.at, []byte("hello"))
	var reject *CMReject
	require.ErrorAs(t, err, &reject)
	<-done

	done = w.serve(1, func(_ int, r *CMRequest) {
		if _, err := r.AcceptConn(w.ctx, nil); !errors.Is(err, transport.ErrInvalid) {
			t.Error(err)
		}
		_ = r.Reject(nil)
	})
	uc := newCMEnd(t, w.a, 0, transport.UC)
	_, err = w.a.DialCM(w.ctx, w.at, uc.params(""))
	require.ErrorAs(t, err, &reject)
	<-done
	uc.do(t, func(*transport.Endpoint) error { uc.qp.Destroy(); return nil })

	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, err = w.a.DialConnCM(ctx, w.at, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, holdings(t, w.a))
}

// holdings returns the number of queue pairs of a host's first endpoint.
func holdings(t *testing.T, h *Host) (queuePairs int) {
	require.NoError(t, h.Do(0, func(ep *transport.Endpoint) {
		queuePairs = ep.Stats().Holdings.QueuePairs
	}))
	return queuePairs
}

// The end of either host ends the connection.
func TestConnByCMEndsWithTheHost(t *testing.T) {
	for name, end := range map[string]func(*cmWorld) error{
		"dialed":   func(w *cmWorld) error { return w.a.Close() },
		"accepted": func(w *cmWorld) error { return w.b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newCMWorld(t, 1)
			client, server := w.connCM()
			ends := make(chan error, 2)
			for _, c := range []*Conn{client, server} {
				go func() {
					_, err := c.Recv(context.Background(), nil)
					ends <- err
				}()
			}
			require.NoError(t, end(w))
			got := errors.Join(<-ends, <-ends)
			require.ErrorIs(t, got, ErrClosed)
			require.ErrorIs(t, got, io.EOF)
			require.NoError(t, errors.Join(client.Close(), server.Close()))
		})
	}
}
