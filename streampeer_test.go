package goroce

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// A peer that violates the protocol ends the stream with an error, and nothing else.
func TestHostileStreamPeer(t *testing.T) {
	for name, violate := range map[string]func(t *testing.T, peer *Stream){
		"more than the ring has room for": func(t *testing.T, peer *Stream) {
			require.NoError(t, peer.conn.w.do(func(*transport.Endpoint) { peer.read += peer.size }))
			require.NoError(t, peer.SetDeadline(time.Now().Add(100*time.Millisecond)))
			_, _ = peer.Write(make([]byte, 2*peer.size))
		},
		"data after the end": func(t *testing.T, peer *Stream) {
			_, _ = peer.Write([]byte("x"))
			require.NoError(t, peer.CloseWrite())
			<-peer.drained
			require.NoError(t, peer.conn.w.do(func(*transport.Endpoint) {
				peer.endPosted = false
				peer.finished.Store(false)
			}))
			_, _ = peer.Write([]byte("x"))
		},
		"more read than was sent": func(t *testing.T, peer *Stream) {
			peer.consumed.Add(1000)
			_, _ = peer.Write([]byte("x"))
		},
		"a message": func(t *testing.T, peer *Stream) {
			require.NoError(t, peer.conn.w.submit(&request{conn: peer.conn, op: transport.OpSend,
				tag: untagged}))
		},
		"a WRITE outside of the ring": func(t *testing.T, peer *Stream) {
			require.NoError(t, peer.conn.w.do(func(*transport.Endpoint) { peer.theirs.Addr-- }))
			_, _ = peer.Write([]byte("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, _ := silenceable(t, Options{StreamBuffer: 8192, Linger: units.Millisecond})
			peer, victim, err := streamed(a, b)
			require.NoError(t, err)
			other, twin, err := streamed(a, b)
			require.NoError(t, err)
			violate(t, peer)
			require.NoError(t, victim.SetDeadline(time.Now().Add(10*time.Second)))
			require.Eventually(t, func() bool { return victim.conn.Err() != nil }, 5*time.Second,
				time.Millisecond)
			require.NotErrorIs(t, victim.conn.Err(), io.EOF)
			for err = nil; err == nil; { // what had arrived can be read
				_, err = victim.Read(make([]byte, 4096))
			}
			_, err = victim.Write([]byte("x"))
			require.Error(t, err)
			_ = victim.Close()
			_ = peer.Close()

			_, err = other.Write([]byte("alive")) // the host's other streams are
			require.NoError(t, err)
			buf := make([]byte, 5)
			_, err = io.ReadFull(twin, buf)
			require.NoError(t, err)
			require.Equal(t, "alive", string(buf))
		})
	}
}

// lossy drops a fraction of the frames that a port receives.
type lossy struct {
	packet.Port
	rng *rand.Rand
}

func (l lossy) Recv(bufs []packet.Buf) int {
	n, kept := l.Port.Recv(bufs), 0
	for i := range n {
		if l.rng.IntN(50) == 0 {
			l.Port.Free(bufs[i : i+1])
			continue
		}
		bufs[kept] = bufs[i]
		kept++
	}
	return kept
}

// Lost frames delay a stream and change nothing in it.
func TestStreamOverALossyPort(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := Options{StreamBuffer: 100_000, Wrap: func(queue int, p packet.Port) packet.Port {
		seed++
		return lossy{p, rand.New(rand.NewPCG(seed, 0))}
	}}
	a, b, _ := silenceable(t, o)
	client, server, err := streamed(a, b)
	require.NoError(t, err)
	data := make([]byte, 10_000_000)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	go func() {
		if _, err := client.Write(data); err != nil {
			t.Error(err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	require.NoError(t, server.SetDeadline(time.Now().Add(time.Minute)))
	got, err := io.ReadAll(server)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, server.Close())
}
