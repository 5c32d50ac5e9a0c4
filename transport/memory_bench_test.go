package transport

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// idlePairs connects n queue pairs of two endpoints, with rings for 128 work requests each, READs
// and a shared receive queue, as a server with many clients does.
func idlePairs(tb testing.TB, p *pair, n int) (ends [2][]*QueuePair) {
	for i, e := range []*Endpoint{p.a, p.b} {
		pd := e.AllocPD()
		cq, err := e.CreateCQ(1024)
		require.NoError(tb, err)
		srq, err := e.CreateSRQ(pd, 1024, 1)
		require.NoError(tb, err)
		for range n {
			qp, err := e.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cq, RecvCQ: cq, SRQ: srq,
				MaxSendWR: 128, SignalAll: true})
			if err != nil {
				tb.Fatal(err)
			}
			ends[i] = append(ends[i], qp)
		}
	}
	for i, ip := range []string{"10.0.0.2", "10.0.0.1"} {
		path := AddressVector{IP: netip.MustParseAddr(ip)}
		for k, qp := range ends[i] {
			if err := qp.Connect(QPAttr{Access: RemoteWrite | RemoteRead, Path: path,
				PathMTU: 4 * units.KiB, DestQPN: ends[1-i][k].Num, MaxRdAtomic: 16,
				MaxDestRdAtomic: 16}); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for range 4 { // resolve
		p.poll()
	}
	return ends
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An idle connection costs each end at most 1 KiB, although it may have 128 work requests and 16
// READs outstanding; and it costs no more after it was busy.
func TestIdleQueuePairMemory(t *testing.T) {
	const n = 4096
	p, _, _ := crossedPair(t, defaults(), 0)
	before := heapInUse()
	ends := idlePairs(t, p, n)
	require.Less(t, (heapInUse()-before)/(2*n), uint64(units.KiB))

	pd := ends[0][0].pd
	mr, err := p.a.RegisterMemory(pd, make([]byte, 64), LocalWrite)
	require.NoError(t, err)
	remote, err := p.b.RegisterMemory(ends[1][0].pd, make([]byte, 64),
		LocalWrite|RemoteWrite)
	require.NoError(t, err)
	wr := WorkRequest{Op: OpWrite, SGList: []SGE{mr.SGE(0, 64)}, RemoteAddr: remote.Addr,
		RKey: remote.RKey}
	var wcs [packet.Burst]WorkCompletion
	for _, qp := range ends[0] {
		require.NoError(t, qp.PostSend(&wr))
		for done := 0; done == 0; p.poll() {
			done = qp.snd.cold().cq.Poll(wcs[:])
		}
		require.Equal(t, StatusSuccess, wcs[0].Status)
	}
	require.Less(t, (heapInUse()-before)/(2*n), uint64(units.KiB), "after a WRITE on each")
	runtime.KeepAlive(ends)
}

// BenchmarkMemory measures what idle connections cost: bytes, and microseconds to create and
// connect, for each queue pair; and a collection of garbage with all of them, the whole of it and
// its pauses.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p, _, _ := crossedPair(b, defaults(), 0)
				before := heapInUse()
				b.StartTimer()
				ends := idlePairs(b, p, n)
				opened := b.Elapsed()
				b.StopTimer()
				b.ReportMetric(float64(heapInUse()-before)/float64(2*n), "B/QP")
				b.ReportMetric(opened.Seconds()*1e6/float64(2*n*b.N), "µs/QP")
				start := time.Now()
				runtime.GC()
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/GC")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.PauseNs[(m.NumGC+255)%256])/1e3, "µs-pause/GC")
				runtime.KeepAlive(ends)
				runtime.KeepAlive(p)
			}
		})
	}
}
