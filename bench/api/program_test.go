package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// poster is a goroce.Program that executes operations of one queue pair, with depth in flight, of
// which every signal-th has a completion.
type poster struct {
	host   *goroce.Host
	qp     *transport.QueuePair
	cq     *transport.CompletionQueue
	wr     transport.WorkRequest
	wcs    [64]transport.WorkCompletion
	depth  int
	signal int
	timed  bool // record latencies; for a depth of 1

	limit, posted, done int
	began               units.Time
	took                latencies
	err                 error
}

// Step implements goroce.Program.
func (p *poster) Step(*transport.Endpoint, units.Time) (busy, done bool) {
	n := p.cq.Poll(p.wcs[:])
	for i := range p.wcs[:n] {
		if s := p.wcs[i].Status; s != transport.StatusSuccess {
			p.err = s
			return true, true
		}
		p.done += p.signal
		if p.timed {
			p.took = append(p.took, p.host.Now().Sub(p.began))
		}
	}
	for p.posted < p.limit && p.posted-p.done < p.depth {
		if p.timed {
			p.began = p.host.Now()
		}
		p.posted++
		p.wr.Signaled = p.posted%p.signal == 0
		if p.err = p.qp.PostSend(&p.wr); p.err != nil {
			return true, true
		}
		busy = true
	}
	return busy || n > 0, p.done >= p.limit
}

// run executes n operations on the polling core; n is rounded up to a multiple of signal.
func (p *poster) run(b *testing.B, n int) {
	n = (n + p.signal - 1) / p.signal * p.signal
	p.limit, p.posted, p.done = n, 0, 0
	ended, err := p.host.Run(0, p)
	require.NoError(b, err)
	<-ended
	require.NoError(b, p.err)
}

// programEnd is one end of the connection of a poster.
type programEnd struct {
	qp    *transport.QueuePair
	cq    *transport.CompletionQueue
	mr    *transport.MemoryRegion
	offer wire.Offer
	mtu   units.Bytes
}

const anyAccess = transport.LocalWrite | transport.RemoteRead | transport.RemoteWrite

func (e *programEnd) create(ep *transport.Endpoint, size, depth int) (err error) {
	pd := ep.AllocPD()
	if e.mr, err = ep.RegisterMemory(pd, make([]byte, size), anyAccess); err != nil {
		return err
	}
	if e.cq, err = ep.CreateCQ(max(depth, 16)); err != nil {
		return err
	}
	e.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: e.cq,
		RecvCQ: e.cq, MaxSendWR: max(depth, 16), MaxRecvWR: 1})
	e.offer, e.mtu = ep.Setup().Offer(), ep.Query().PathMTU
	return err
}

// newPoster connects queue pairs for operations of size bytes.
func newPoster(b *testing.B, h hosts, op transport.Op, size, depth, signal int) *poster {
	ends := [2]programEnd{}
	owners := [2]*goroce.Host{h.client, h.server}
	addrs := h.addrs()
	on := func(i int, f func(ep *transport.Endpoint) error) {
		var failure error
		require.NoError(b, owners[i].Do(0, func(ep *transport.Endpoint) { failure = f(ep) }))
		require.NoError(b, failure)
	}
	for i := range ends {
		on(i, func(ep *transport.Endpoint) error { return ends[i].create(ep, size, depth) })
	}
	for i, e := range ends {
		peer := ends[1-i]
		on(i, func(*transport.Endpoint) error {
			return e.qp.Connect(transport.QPAttr{
				Path:    transport.AddressVector{IP: addrs[1-i]},
				PathMTU: min(e.mtu, peer.mtu), DestQPN: peer.qp.Num, Access: anyAccess,
				MaxRdAtomic: 16, MaxDestRdAtomic: 16, Timeout: 15, RetryCount: 7, RNRRetry: 7,
				Extension: wire.Agree(e.offer, peer.offer)})
		})
	}
	return &poster{host: h.client, qp: ends[0].qp, cq: ends[0].cq, depth: depth, signal: signal,
		timed: depth == 1, wr: transport.WorkRequest{Op: op,
			SGList:     []transport.SGE{ends[0].mr.SGE(0, size)},
			RemoteAddr: ends[1].mr.Addr, RKey: ends[1].mr.RKey}}
}
