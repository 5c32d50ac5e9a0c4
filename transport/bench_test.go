package transport

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/hugepage"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// crossing is a port that passes frames to its peer by reference, so that only the transport's own
// cost remains.
type crossing struct {
	mac   byte
	peer  *crossing
	queue []packet.Buf
	pool  *[]packet.Buf // of both ends
}

func newCrossing(buffers int) (a, b *crossing) {
	pool := make([]packet.Buf, buffers)
	for i := range pool {
		pool[i] = packet.MakeBuf(0, make([]byte, 0, linkBuffer))
	}
	a = &crossing{mac: 1, pool: &pool, queue: make([]packet.Buf, 0, buffers)}
	b = &crossing{mac: 2, pool: &pool, queue: make([]packet.Buf, 0, buffers), peer: a}
	a.peer = b
	return a, b
}

func (c *crossing) Info() packet.Info {
	return packet.Info{Name: "crossing", MAC: packet.MAC{2, 0, 0, 0, 0, c.mac}, MTU: 4200,
		Classes: 1, TxDepth: 1024, Reliable: true}
}

func (c *crossing) Alloc(bufs []packet.Buf) int {
	n := min(len(bufs), len(*c.pool))
	at := len(*c.pool) - n
	copy(bufs, (*c.pool)[at:])
	*c.pool = (*c.pool)[:at]
	return n
}

func (c *crossing) Free(bufs []packet.Buf) { *c.pool = append(*c.pool, bufs...) }

func (c *crossing) Send(_ packet.Class, bufs []packet.Buf) int {
	c.peer.queue = append(c.peer.queue, bufs...)
	return len(bufs)
}

func (c *crossing) Recv(bufs []packet.Buf) int {
	n := copy(bufs, c.queue)
	c.queue = append(c.queue[:0], c.queue[n:]...)
	return n
}

// crossedPair is two endpoints whose connected queue pairs are busy for as long as a benchmark
// runs.
func crossedPair(tb testing.TB, o sideOptions, qps int) (p *pair, as, bs []*side) {
	p = &pair{t: tb}
	la, lb := newCrossing(2048)
	var err error
	p.a, err = New(Config{Port: la, Addrs: prefixes("10.0.0.1/24"), Seed: 1,
		HugePages: hugepage.Advise}, 0)
	require.NoError(tb, err)
	p.b, err = New(Config{Port: lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2,
		HugePages: hugepage.Advise}, 0)
	require.NoError(tb, err)
	apd, bpd := p.a.AllocPD(), p.b.AllocPD()
	for range qps {
		oa, ob := o, o
		oa.pd, ob.pd = apd, bpd
		a, b := oa.make(tb, p.a), ob.make(tb, p.b)
		a.connect(tb, o, b)
		b.connect(tb, o, a)
		as, bs = append(as, a), append(bs, b)
	}
	for range 4 { // resolve
		p.poll()
	}
	return p, as, bs
}

func (p *pair) poll() {
	p.now = p.now.Add(max(p.tick, units.Nanosecond))
	p.a.Poll(p.now)
	p.b.Poll(p.now)
}

// stream is an operation repeated on a queue pair, in bursts.
type stream struct {
	p    *pair
	a, b *side
	wr   WorkRequest
	rr   RecvRequest
	wcs  [packet.Burst]WorkCompletion
}

func newStream(p *pair, a, b *side, op Op, size int) *stream {
	s := &stream{p: p, a: a, b: b}
	s.wr = WorkRequest{Op: op, SGList: []SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey}
	s.rr = RecvRequest{SGList: []SGE{b.mr.SGE(0, size)}}
	for range 4 * packet.Burst {
		_ = b.qp.PostRecv(&s.rr)
	}
	return s
}

// burst posts n operations, the last one signalled, and polls until it is complete.
func (s *stream) burst(n int) {
	for i := range n {
		s.wr.Signaled = i == n-1
		if err := s.a.qp.PostSend(&s.wr); err != nil {
			panic(err)
		}
	}
	for done := 0; done == 0; {
		s.p.poll()
		for i := range s.b.cq.Poll(s.wcs[:]) {
			_ = i
			_ = s.b.qp.PostRecv(&s.rr)
		}
		done = s.a.cq.Poll(s.wcs[:])
	}
}

// BenchmarkMessage measures the cost of one message on both sides together: post, build, ICRC,
// check, write, acknowledge, complete.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		op   Op
		size int
	}{{OpSend, 32}, {OpWrite, 32}, {OpSend, 4096}, {OpWrite, 4096}, {OpRead, 32}, {OpRead, 4096},
		{OpFetchAdd, 8}} {
		b.Run(fmt.Sprintf("%v/%d", c.op, c.size), func(b *testing.B) {
			o := defaults()
			o.mtu, o.sges, o.reads = 4*units.KiB, 1, 64
			p, as, bs := crossedPair(b, o, 1)
			s := newStream(p, as[0], bs[0], c.op, c.size)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			b.ResetTimer()
			for n := b.N; n > 0; n -= packet.Burst {
				s.burst(packet.Burst)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
		})
	}
}

// BenchmarkQueuePairs measures the cost of many queue pairs: 32-byte WRITEs in bursts of 32, each
// on a queue pair drawn at random from as many connected ones. With many, each message has an ACK
// of its own, and its queue pairs are not in the cache.
func BenchmarkQueuePairs(b *testing.B) {
	for _, n := range []int{1, 1000, 4000, 16000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := defaults()
			o.depth, o.sges, o.inline, o.reads = 1, 1, 0, 0
			p, _, _ := crossedPair(b, o, 0)
			cqs, mrs := [2]*CompletionQueue{}, [2]*MemoryRegion{}
			ends := [2][]*QueuePair{}
			for i, e := range []*Endpoint{p.a, p.b} {
				pd := e.AllocPD()
				var err error
				cqs[i], err = e.CreateCQ(4 * packet.Burst)
				require.NoError(b, err)
				mrs[i], err = e.RegisterMemory(pd, make([]byte, 64), LocalWrite|RemoteWrite)
				require.NoError(b, err)
				for range n {
					qp, err := e.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cqs[i], RecvCQ: cqs[i],
						MaxSendWR: packet.Burst, SignalAll: true})
					require.NoError(b, err)
					ends[i] = append(ends[i], qp)
				}
			}
			for i, ip := range []string{"10.0.0.2", "10.0.0.1"} {
				for k, qp := range ends[i] {
					require.NoError(b,
						qp.Connect(QPAttr{Access: RemoteWrite,
							Path:    AddressVector{IP: netip.MustParseAddr(ip)},
							PathMTU: units.KiB,
							DestQPN: ends[1-i][k].Num}))
				}
			}
			for range 4 { // resolve
				p.poll()
			}
			wr := WorkRequest{Op: OpWrite, SGList: []SGE{mrs[0].SGE(0, 32)},
				RemoteAddr: mrs[1].Addr, RKey: mrs[1].RKey}
			rng := rand.New(rand.NewPCG(1, 2))
			var wcs [packet.Burst]WorkCompletion
			runtime.GC() // of the setup: none is to be in progress, with its write barriers
			var next [packet.Burst]*QueuePair
			b.ResetTimer()
			for left := b.N; left > 0; left -= packet.Burst {
				for i := range next {
					next[i] = ends[0][rng.IntN(n)]
				}
				for _, qp := range next {
					qp.Prefetch()
				}
				for _, qp := range next {
					if err := qp.PostSend(&wr); err != nil {
						b.Fatal(err)
					}
				}
				for done := 0; done < packet.Burst; {
					p.poll()
					done += cqs[0].Poll(wcs[:])
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
		})
	}
}
