package goroce

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// silencer drops what a port receives while silent.
type silencer struct {
	packet.Port
	silent *atomic.Bool
}

func (s silencer) Recv(bufs []packet.Buf) int {
	n := s.Port.Recv(bufs)
	if s.silent.Load() {
		s.Port.Free(bufs[:n])
		return 0
	}
	return n
}

// silenceable returns two hosts, of which the second is silent while the flag is set. Its TCP
// connections stay, as those of a machine that has lost its network.
func silenceable(t *testing.T, o Options) (a, b *Host, silent *atomic.Bool) {
	silent = new(atomic.Bool)
	var hosts [2]*Host
	for i := range hosts {
		o := o
		if i == 1 && o.Wrap == nil {
			o.Wrap = func(_ int, p packet.Port) packet.Port { return silencer{p, silent} }
		}
		h, err := Open("loop:"+t.Name(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	return hosts[0], hosts[1], silent
}

// A program that only waits notices that its peer is gone, however it is connected.
func TestKeepAlive(t *testing.T) {
	a, b, silent := silenceable(t, Options{KeepAlive: 50 * units.Millisecond, Retries: 1,
		Linger: units.Millisecond})
	client, server := dialed(t, a, b)
	defer server.Abort()
	stream, other, err := streamed(a, b)
	require.NoError(t, err)
	defer other.Close()
	w := &cmWorld{t: t, a: a, b: b, ctx: t.Context()}
	w.listen, err = b.ListenCM(cmPort)
	require.NoError(t, err)
	w.at = netip.AddrPortFrom(b.Addrs()[0].Addr(), cmPort)
	byCM, _ := w.connCM()

	ends := make(chan error, 3)
	go func() { _, err := client.Recv(context.Background(), nil); ends <- err }()
	go func() { _, err := byCM.Recv(context.Background(), nil); ends <- err }()
	go func() { _, err := stream.Read(make([]byte, 1)); ends <- err }()
	select {
	case err := <-ends:
		t.Fatal("ended while the peer responds:", err)
	case <-time.After(500 * time.Millisecond):
	}
	silent.Store(true)
	for range 3 {
		select {
		case err := <-ends:
			require.ErrorIs(t, err, transport.StatusRetryExcErr)
		case <-time.After(5 * time.Second):
			t.Fatal("a dead peer was not noticed")
		}
	}
}

// Without probes, nothing is sent on a connection without traffic.
func TestKeepAliveOff(t *testing.T) {
	for interval, sends := range map[units.Duration]bool{-1: false, 10 * units.Millisecond: true} {
		t.Run(interval.String(), func(t *testing.T) {
			a, b, _ := silenceable(t, Options{KeepAlive: interval})
			_, _ = dialed(t, a, b)
			var frames [2]uint64
			for i := range frames {
				time.Sleep(100 * time.Millisecond)
				require.NoError(t, a.Do(0, func(ep *transport.Endpoint) {
					frames[i] = ep.Stats().TxFrames
				}))
			}
			require.Equal(t, sends, frames[1] > frames[0])
		})
	}
}

func TestRetriesAreChecked(t *testing.T) {
	_, err := Open("loop:"+t.Name(), Options{Retries: 8})
	require.ErrorIs(t, err, transport.ErrInvalid)
	require.ErrorContains(t, err, "Retries of 8, want at most 7")
}
