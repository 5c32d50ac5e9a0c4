package transport

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// BenchmarkTwoCores measures whether endpoints on two cores slow each other: the rate of a pair of
// endpoints while another pair sends on another core, divided by its rate alone. For comparison it
// measures the rate beside a core that only counts in a register: what that takes from a pair is
// the machine's (a sibling thread, power, a neighbour), not ours. Medians; a round alternates all
// three.
func BenchmarkTwoCores(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("two cores are needed")
	}
	const messages = 200 * packet.Burst
	o := defaults()
	o.mtu, o.sges, o.reads = 4*units.KiB, 1, 64
	var streams [2]*stream
	for i := range streams {
		p, as, bs := crossedPair(b, o, 1)
		streams[i] = newStream(p, as[0], bs[0], OpSend, 64)
	}
	run := func(s *stream) time.Duration {
		start := time.Now()
		for range messages / packet.Burst {
			s.burst(packet.Burst)
		}
		return time.Since(start)
	}
	var counted uint64
	beside := func(other func()) time.Duration {
		var stop, began, ended atomic.Bool
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			began.Store(true)
			for !stop.Load() {
				other()
			}
			ended.Store(true)
		}()
		for !began.Load() {
			runtime.Gosched()
		}
		d := run(streams[0])
		stop.Store(true)
		for !ended.Load() {
			runtime.Gosched()
		}
		return d
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	run(streams[0])
	run(streams[1])
	var pairs, counters []float64
	for b.Loop() {
		alone := run(streams[0])
		counting := beside(func() {
			for range 1000 {
				counted++
			}
		})
		sending := beside(func() { streams[1].burst(packet.Burst) })
		pairs = append(pairs, float64(alone)/float64(sending))
		counters = append(counters, float64(alone)/float64(counting))
	}
	slices.Sort(pairs)
	slices.Sort(counters)
	b.ReportMetric(pairs[len(pairs)/2], "beside-pair")
	b.ReportMetric(counters[len(counters)/2], "beside-counter")
	b.ReportMetric(0, "ns/op")
}
