package transport

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

// walkedBacklog computes what backlog must return, packet by packet of every request.
func walkedBacklog(qp *QueuePair) (b cc.Backlog) {
	for i := qp.snd.done; i != qp.snd.posted; i++ {
		w := qp.snd.at(i)
		if w.op.hasResponse() {
			continue
		}
		if i-qp.snd.done >= qp.snd.begun-qp.snd.done { // no packet of it has left
			b.Waits += units.Bytes(w.length)
			continue
		}
		for k := uint32(max(0, qp.loss.una.Sub(w.first))); k < w.packets; k++ {
			switch psn, size := w.first.Add(k), qp.snd.span(w, k, k+1); {
			case psn.Before(qp.loss.sndMax) && qp.loss.recovery.isAnswered(psn, qp.loss.una):
			case psn.Before(qp.snd.sndNxt) && (qp.loss.recovery == nil ||
				!qp.loss.recovery.lost.has(psn)):
				b.InFlight += size
			default:
				b.Waits += size
			}
		}
	}
	return b
}

// The backlog agrees with a walk over the requests, whatever is lost, with READs and atomics among
// them or not.
func TestBacklogIsThatOfEveryPacket(t *testing.T) {
	for _, c := range []struct {
		name  string
		sack  uint16
		reads int // of ten requests
	}{
		{"go-back-N", 0, 5}, {"go-back-N, WRITEs", 0, 0}, {"selective repeat", 512, 5},
		{"selective repeat, mostly READs", 64, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				o := defaults()
				o.sack, o.timeout, o.memory, o.retries, o.reads = c.sack, 7, 1<<16, 7, 3
				p, a, b, _, r := admittedPair(t, o)
				p.la.record, p.lb.record = false, false
				r.window = 8192
				rng := rand.New(rand.NewPCG(seed, 2))
				lossy := func([]byte) int { return min(1, rng.IntN(20)) }
				p.la.tamper, p.lb.tamper = lossy, lossy
				among := 0
				for range 60 {
					for range 1 + rng.IntN(4) {
						if a.qp.SendRoom() == 0 {
							break
						}
						wr := WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, rng.IntN(20_000))},
							RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}
						if rng.IntN(10) < c.reads {
							wr.Op = OpRead
							if rng.IntN(3) == 0 {
								wr.Op, wr.SGList[0].Length = OpFetchAdd, 8
							}
						}
						a.post(t, wr)
						require.Equal(t, walkedBacklog(a.qp), a.qp.adm.backlog(), "seed %d, posted",
							seed)
					}
					p.run(units.Duration(rng.IntN(60))*units.Microsecond, func() bool {
						require.Equal(t, walkedBacklog(a.qp), a.qp.adm.backlog(), "seed %d at %v",
							seed,
							p.now)
						if a.qp.adm.reads > 0 && a.qp.adm.backlog() != (cc.Backlog{}) {
							among++
						}
						return false
					})
				}
				require.Equal(t, ReadyToSend, a.qp.State(), "seed %d", seed)
				if c.reads > 0 {
					require.NotZero(t, among, "seed %d: READs were outstanding beside WRITEs", seed)
				}
			}
		})
	}
}

// The cost of the backlog is the same for a thousand requests behind a READ as for one: it looks
// only at the oldest.
func TestBacklogCostIsConstant(t *testing.T) {
	o := defaults()
	o.depth, o.timeout = 1024, 31
	p, a, b, _, _ := admittedPair(t, o)
	p.la.tamper = func([]byte) int { return 0 }
	a.post(t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 64)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	for range 1000 {
		a.write(t, b, 64)
	}
	p.settle(2 * units.Microsecond)
	want := a.qp.adm.backlog()
	require.EqualValues(t, 64_000, want.Waits+want.InFlight)
	for i := a.qp.snd.done + 1; i != a.qp.snd.posted; i++ {
		*a.qp.snd.at(i) = sendWQE{length: 1 << 30, packets: 1 << 20}
	}
	require.Equal(t, want, a.qp.adm.backlog())
}

// BenchmarkPostBehindRead posts while a gate blocks most of what is posted, behind a READ that is
// not answered and without one: the time for each must not depend on either.
func BenchmarkPostBehindRead(b *testing.B) {
	for _, reads := range []int{0, 1} {
		for _, n := range []int{1000, 60_000} {
			b.Run(fmt.Sprintf("%d-reads-%d-posted", reads, n), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					o := defaults()
					o.depth, o.timeout = endpoint.MaxQueueDepth, 31
					p, from, to, _, _ := admittedPair(b, o)
					p.la.tamper = func([]byte) int { return 0 }
					for range reads {
						from.post(b, WorkRequest{Op: OpRead, SGList: []SGE{from.mr.SGE(0, 64)},
							RemoteAddr: to.mr.Addr, RKey: to.mr.RKey})
					}
					b.StartTimer()
					for range n {
						from.post(b, WorkRequest{Op: OpWrite, SGList: []SGE{from.mr.SGE(0, 64)},
							RemoteAddr: to.mr.Addr, RKey: to.mr.RKey})
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/post")
			})
		}
	}
}
