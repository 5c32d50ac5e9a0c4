package goroce

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
)

// TestNoBuffers takes every free buffer of a port's pool while messages cross it, many times: of
// those that were sent all are acknowledged and arrive, and the endpoint counts what it could not
// send.
func TestNoBuffers(t *testing.T) {
	memif := "memif:" + t.TempDir() + "/s"
	for _, c := range []struct {
		name, ours, theirs string
		peer               func(t *testing.T, url string) streamer
	}{
		{"loop", "loop:exhausted", "loop:exhausted", here},
		{"memif server", memif, memif + ",client", elsewhere},
		{"memif client", memif + ",client", memif, elsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			peer := c.peer(t, c.theirs)
			h, err := Open(c.ours, Options{Buffers: 255})
			require.NoError(t, err)
			exhaust(t, h, peer)
			s, err := h.Device().Stats()
			require.NoError(t, err)
			require.LessOrEqual(t, s.BuffersFree, s.Buffers)
			require.NoError(t, h.Close())
			peer.stop()
		})
	}
}

// exhaust has a connection's port without buffers again and again.
func exhaust(t *testing.T, h *Host, peer streamer) {
	conn, ended := dialStreamer(t, h, peer)
	acknowledged := conn.done.Load
	for range 5 {
		held := make([]packet.Buf, 4096)
		require.NoError(t, h.Do(0, func(ep *transport.Endpoint) {
			held = held[:h.device.Queue(0).Alloc(held)]
		}))
		time.Sleep(20 * time.Millisecond) // shorter than what ends the connection
		require.NoError(t, h.Do(0, func(ep *transport.Endpoint) {
			held = append(held, make([]packet.Buf, 256)...)
			n := len(held) - 256
			held = held[:n+h.device.Queue(0).Alloc(held[n:])] // those that came home meanwhile
		}))
		time.Sleep(20 * time.Millisecond)
		require.NoError(t, h.Do(0, func(ep *transport.Endpoint) { h.device.Queue(0).Free(held) }))
		was := acknowledged()
		require.Eventually(t, func() bool { return acknowledged() > was+slots },
			removalLimit, time.Millisecond, "traffic does not go on")
	}
	var counters transport.Stats
	require.NoError(t, h.Do(0, func(ep *transport.Endpoint) { counters = ep.Stats() }))
	require.NotZero(t, counters.NoBuffers)
	require.Zero(t, counters.RetriesExceeded)
	require.NoError(t, conn.Err())
	ctx, cancel := context.WithTimeout(context.Background(), removalLimit)
	defer cancel()
	require.NoError(t, conn.Flush(ctx), "a completion was lost")
	require.NoError(t, conn.Abort())
	<-ended
	<-peer.ended
}
