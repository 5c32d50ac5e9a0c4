package goroce

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/rdmacm"
	"github.com/goroce/goroce/transport/wire"
)

// Requests that anybody can send in anybody's name, more than a listener's backlog and its queue hold, do not keep a peer
// from connecting, whether the program takes them or has not come to it.
func TestCMFlood(t *testing.T) {
	for name, answers := range map[string]bool{"taken and accepted": true, "not taken yet": false} {
		t.Run(name, func(t *testing.T) {
			w := newCMWorld(t, 1)
			local := w.b.Addrs()[0].Addr()
			flood := func(from, to int) {
				for i := from; i < to; i++ {
					as16 := local.As16()
					as16[8], as16[9], as16[10], as16[11] = 0xba, 0xd0, byte(i>>8), byte(i)
					peer := netip.AddrFrom16(as16)
					r := rdmacm.REQ{LocalID: rdmacm.CommID(i + 1), Service: rdmacm.TCPService(cmPort), LocalQPN: wire.QPN(i + 2), MTU: 3, PKey: 0xffff,
						LocalResponseTimeout: 31, MaxCMRetries: 15, Primary: rdmacm.Path{LocalGID: peer, RemoteGID: local, LocalACKTimeout: 31}}
					rdmacm.IPHeader{Source: peer, Destination: local}.Put(r.Private[:])
					w.b.cm.machine.ReceiveVia([6]byte{2, 0xba, 0xd0, 0, byte(i >> 8), byte(i)}, local, peer, rdmacm.Append(nil, uint64(i), &r), w.b.Now())
				}
			}
			const requests, burst = 5 * backlog, 16
			if !answers {
				for i := 0; i < requests; i += burst {
					require.NoError(t, w.b.Do(0, func(*transport.Endpoint) { flood(i, i+burst) }))
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
					go func() { _, _ = r.Accept(w.ctx, b.params("")) }() // most fail: nobody is there
				}
			}()
			if answers {
				for i := 0; i < requests; i += burst {
					require.NoError(t, w.b.Do(0, func(*transport.Endpoint) { flood(i, i+burst) }))
				}
			}
			a := newCMEnd(t, w.a, 0, transport.RC)
			_, err := w.a.DialCM(w.ctx, w.at, a.params(""))
			require.NoError(t, err)
			require.NoError(t, w.b.Do(0, func(*transport.Endpoint) {
				require.LessOrEqual(t, w.b.cm.machine.Len(), backlog+1)
				require.GreaterOrEqual(t, w.b.cm.machine.Counters().Displaced, uint64(requests-backlog))
			}))
			require.NoError(t, w.listen.Close())
			<-done
		})
	}
}
