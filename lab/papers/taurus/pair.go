package taurus

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// pair is a datapath that really sends: two endpoints on one core, with a pipe between them, and
// queue pairs that always have messages of a packet to write.
type pair struct {
	a, b *transport.Endpoint
	cq   *transport.CompletionQueue
	qps  [2][]*transport.QueuePair
	work transport.WorkRequest
	wcs  [packet.Burst]transport.WorkCompletion
	err  error
}

// Outstanding messages of a queue pair, and how many of them complete together.
const (
	outstandingMessages = 64
	completeEach        = 16
)

func newPair(c cc.Controller, flows int, algorithm func() (cc.Algorithm, error)) (*pair, error) {
	p := &pair{}
	portA, portB := packet.Pipe(packet.PipeOptions{LinkRate: benchPath.LineRate, Buffers: 4096,
		Depth: 1024})
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	var mrs [2]*transport.MemoryRegion
	for i, port := range []packet.Port{portA, portB} {
		config := transport.Config{Port: single{port},
			Addrs: []netip.Prefix{netip.PrefixFrom(addrs[i], 24)}, Seed: uint64(i + 1)}
		if i == 0 {
			config.Controller = c
		}
		e, err := transport.New(config, wall())
		if err != nil {
			return nil, err
		}
		pd := e.AllocPD()
		if mrs[i], err = e.RegisterMemory(pd, make([]byte, mtu),
			transport.LocalWrite|transport.RemoteWrite); err != nil {
			return nil, err
		}
		cq, err := e.CreateCQ(max(64, flows*outstandingMessages))
		if err != nil {
			return nil, err
		}
		for range flows {
			init := transport.QPInit{Type: transport.RC, PD: pd, SendCQ: cq, RecvCQ: cq,
				MaxSendWR: outstandingMessages, MaxSendSGE: 1}
			if i == 0 {
				if init.Algorithm, err = algorithm(); err != nil {
					return nil, err
				}
			}
			qp, err := e.CreateQP(init)
			if err != nil {
				return nil, err
			}
			p.qps[i] = append(p.qps[i], qp)
		}
		if i == 0 {
			p.a, p.cq = e, cq
		} else {
			p.b = e
		}
	}
	for i := range p.qps {
		for k, qp := range p.qps[i] {
			if err := qp.Connect(transport.QPAttr{Access: transport.RemoteWrite,
				Path: transport.AddressVector{IP: addrs[1-i]}, PathMTU: mtu,
				DestQPN: p.qps[1-i][k].Num, Timeout: 18, RetryCount: 7}); err != nil {
				return nil, err
			}
		}
	}
	p.work = transport.WorkRequest{Op: transport.OpWrite,
		SGList: []transport.SGE{mrs[0].SGE(0, int(mtu))}, RemoteAddr: mrs[1].Addr,
		RKey: mrs[1].RKey}
	for k := range p.qps[0] {
		for range outstandingMessages / completeEach {
			p.post(k)
		}
	}
	return p, p.err
}

// single is a port that returns one packet at a time, so that each is acknowledged by itself.
type single struct{ packet.Port }

// Recv implements packet.Port.
func (s single) Recv(bufs []packet.Buf) int { return s.Port.Recv(bufs[:1]) }

// post writes some messages; only the last is signaled.
func (p *pair) post(k int) {
	for i := range completeEach {
		p.work.ID, p.work.Signaled = uint64(k), i == completeEach-1
		if err := p.qps[0][k].PostSend(&p.work); err != nil {
			p.err = err
		}
	}
}

// acknowledge implements datapath: a round of both ends, with as many acknowledgements as there
// are.
func (p *pair) acknowledge(_ int, now units.Time) (packets, _ uint64) {
	p.a.Poll(now)
	p.b.Poll(now)
	for _, wc := range p.wcs[:p.cq.Poll(p.wcs[:])] {
		if wc.Status != transport.StatusSuccess {
			p.err = fmt.Errorf("taurus: a message completed with %v", wc.Status)
			continue
		}
		packets += completeEach
		p.post(int(wc.ID))
	}
	return packets, 0
}
