package goroce

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Many may wait for the acknowledgements of the same messages.
func TestCloseAndFlushAtOnce(t *testing.T) {
	a, b := openPair(t, t.Name())
	for range 20 {
		client, server := dialed(t, a, b)
		for range slots / 2 { // for which the peer has receives
			require.NoError(t, client.Send(context.Background(), make([]byte, 1000)))
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if i%2 == 0 {
					assert.NoError(t, client.Close())
				} else if err := client.Flush(context.Background()); err != nil {
					assert.ErrorIs(t, err, ErrClosed)
				}
			})
		}
		all.Wait()
		for range slots / 2 {
			_, err := server.Recv(context.Background(), make([]byte, 1000))
			require.NoError(t, err)
		}
		_, err := server.Recv(context.Background(), nil)
		require.Equal(t, io.EOF, err)
		require.NoError(t, server.Close())
	}
}

// A Flush waits for what was sent before, not for what others send meanwhile.
func TestFlushesOfManySenders(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	go func() {
		for {
			if _, err := server.Recv(context.Background(), nil); err != nil &&
				err != io.ErrShortBuffer {
				return
			}
		}
	}()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				assert.NoError(t, client.Send(context.Background(), []byte("x")))
				assert.NoError(t, client.Flush(context.Background()))
			}
		})
	}
	all.Wait()
	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
}

// fill sends to a peer that does not receive until it has no more places.
func fill(t *testing.T, c *Conn) {
	for range 2 * slots { // its receives, and our slots
		require.NoError(t, c.Send(context.Background(), make([]byte, 100)))
	}
}

func TestCloseOfPeerThatDoesNotReceive(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	fill(t, client)
	require.ErrorIs(t, client.Close(), context.DeadlineExceeded)
	require.NoError(t, client.Close(), "it is closed")
	require.Equal(t, ErrClosed, client.Err())
	for range slots {
		_, err := server.Recv(context.Background(), make([]byte, 100))
		require.NoError(t, err)
	}
	_, err := server.Recv(context.Background(), nil)
	require.ErrorContains(t, err, "reset", "io.EOF would mean that nothing was lost")
	require.NoError(t, server.Close())
}
