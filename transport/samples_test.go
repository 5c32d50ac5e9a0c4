package transport

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// walk returns the samples of all queue pairs, a few at a time. Between two calls f runs.
func walk(e *Endpoint, f func()) (all []QPSample) {
	var some [3]QPSample
	for n, slot := 0, FirstSlot; slot > 0; f() {
		n, slot = e.Samples(some[:], slot)
		all = append(all, some[:n]...)
	}
	return all
}

func TestSamplesSeeEachQueuePairOnce(t *testing.T) {
	p := newPair(t)
	make := func() wire.QPN { return defaults().make(t, p.a).qp.Num }
	var before []wire.QPN
	for range 200 {
		before = append(before, make())
	}
	seen := map[wire.QPN]int{}
	for _, s := range walk(p.a, func() { make() }) { // the table grows
		seen[s.Num]++
		require.Equal(t, "fixed", s.Algorithm)
		require.False(t, s.Peer.IsValid())
	}
	for n, times := range seen {
		require.Equal(t, 1, times, "queue pair %#x", n)
	}
	seen = map[wire.QPN]int{}
	for _, s := range walk(p.a, func() {}) {
		seen[s.Num]++
	}
	for _, n := range before {
		require.Equal(t, 1, seen[n], "queue pair %#x", n)
	}
}

func TestDestroyedQueuePairsStayInTheTotals(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 1000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	p.await(a, 1)
	s := walk(a.ep, func() {})
	require.Len(t, s, 1)
	require.EqualValues(t, 1000, s[0].BytesSent)
	require.Equal(t, b.qp.Num, s[0].PeerNum)
	require.Equal(t, netip.MustParseAddr("10.0.0.2"), s[0].Peer)

	var e EndpointSample
	a.ep.Sample(&e)
	require.Zero(t, e.Retired[0].BytesSent)
	a.qp.Destroy()
	a.ep.Sample(&e)
	require.Equal(t, []Retired{{Algorithm: "fixed", QPCounters: s[0].QPCounters}}, e.Retired)
	require.Empty(t, walk(a.ep, func() {}))
	a.qp.Destroy()
	a.ep.Sample(&e)
	require.EqualValues(t, 1000, e.Retired[0].BytesSent, "destroyed once")
}
