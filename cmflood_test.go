package goroce

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// stranger is the i-th source of a flood.
func (w *cmWorld) stranger(i int) netip.Addr {
	as16 := w.b.Addrs()[0].Addr().As16()
	as16[8], as16[9], as16[10], as16[11] = 0xba, 0xd0, byte(i>>8), byte(i)
	return netip.AddrFrom16(as16)
}

// flood has strangers ask b for connections. It is b's core's.
func (w *cmWorld) flood(from, to int) {
	local := w.b.Addrs()[0].Addr()
	for i := from; i < to; i++ {
		peer := w.stranger(i)
		r := rdmacm.REQ{LocalID: rdmacm.CommID(i + 1), Service: rdmacm.TCPService(cmPort),
			LocalQPN: wire.QPN(i + 2), MTU: 3, PKey: 0xffff,
			LocalResponseTimeout: 31, MaxCMRetries: 15, Primary: rdmacm.Path{LocalGID: peer,
				RemoteGID: local, LocalACKTimeout: 31}}
		rdmacm.IPHeader{Source: peer, Destination: local}.Put(r.Private[:])
		w.b.cm.machine.ReceiveVia([6]byte{2, 0xba, 0xd0, 0, byte(i >> 8), byte(i)}, local, peer,
			rdmacm.Append(nil, uint64(i), &r), w.b.Now())
	}
}

// A program that does not keep up with its requests is given the newest, which are the last to be
// displaced.
func TestCMAcceptOrder(t *testing.T) {
	for _, c := range []struct {
		name                 string
		waiting, first, next int
	}{
		{"few wait", 3, 0, 1},
		{"a crowd", crowd + 2, crowd + 1, crowd},
		{"more than the backlog", 3 * backlog, 3*backlog - 1, 3*backlog - 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newCMWorld(t, 1)
			for i := range c.waiting {
				require.NoError(t, w.b.Do(0, func(*transport.Endpoint) { w.flood(i, i+1) }))
			}
			require.Eventually(t, func() bool { // the core hands them over between two rounds
				w.listen.mu.Lock()
				defer w.listen.mu.Unlock()
				n := len(w.listen.requests)
				return n > 0 && w.listen.requests[n-1].c.peer.Addr() == w.stranger(c.waiting-1)
			}, 10*time.Second, time.Millisecond)
			for _, want := range []int{c.first, c.next} {
				r, err := w.listen.Accept(w.ctx)
				require.NoError(t, err)
				require.Equal(t, w.stranger(want), r.Peer().Addr())
			}
		})
	}
}

// Requests that anybody can send in anybody's name, more than a listener's backlog and its queue
// hold, do not keep a peer from connecting, whether the program takes them or has not come to it.
func TestCMFlood(t *testing.T) {
	for name, answers := range map[string]bool{"taken and accepted": true, "not taken yet": false} {
		t.Run(name, func(t *testing.T) {
			w := newCMWorld(t, 1)
			const requests, burst = 5 * backlog, 16
			if !answers {
				for i := 0; i < requests; i += burst {
					require.NoError(t, w.b.Do(0, func(*transport.Endpoint) { w.flood(i, i+burst) }))
				}
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					r, err := w.listen.Accept(w.ctx)
					if err != nil {
						return
					}
					b := newCMEnd(t, w.b, 0, transport.RC)
					// most fail: nobody is there
					go func() { _, _ = r.Accept(w.ctx, b.params("")) }()
				}
			}()
			if answers {
				for i := 0; i < requests; i += burst {
					require.NoError(t, w.b.Do(0, func(*transport.Endpoint) { w.flood(i, i+burst) }))
				}
			}
			a := newCMEnd(t, w.a, 0, transport.RC)
			_, err := w.a.DialCM(w.ctx, w.at, a.params(""))
			require.NoError(t, err)
			var conns int
			var displaced uint64
			require.NoError(t, w.b.Do(0, func(*transport.Endpoint) {
				conns, displaced = w.b.cm.machine.Len(), w.b.cm.machine.Counters().Displaced
			}))
			require.LessOrEqual(t, conns, backlog+1)
			require.NotZero(t, displaced, "the flood was more than the backlog")
			require.NoError(t, w.listen.Close())
			<-done
		})
	}
}
