package nicoffload

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// BenchmarkCrossing measures the boundary between two spinning cores: a signal goes up as a
// message, a result comes down. It reports half of the round-trip time, without an algorithm.
func BenchmarkCrossing(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("two cores are needed, this machine has one")
	}
	n := newNIC(b, Config{})
	link := NewLink()
	side, err := link.NICSide(n)
	require.NoError(b, err)
	host, err := link.Host()
	require.NoError(b, err)
	side.Open(1, cc.Decision{}, 0)
	side.Poll(0)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		buf := make([]byte, 1<<16)
		out := make([]Result, 1)
		for !stop.Load() {
			if k := host.Fetch(buf); k > 0 && buf[4] == uint8(typeOf[cc.RTT]) {
				out[0] = Result{1, cc.Decision{Window: units.Bytes(le.Uint64(buf[8:]))}}
				for host.Write(out) == 0 {
				}
			}
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ev, r := cc.Event{Kind: cc.RTT}, Result{}
	took := make([]time.Duration, 0, 1<<20)
	for b.Loop() {
		ev.Delay++
		begin := time.Now()
		side.Report(1, &ev, 0)
		for {
			side.Poll(0)
			if side.Result(&r) && r.Decision.Window == units.Bytes(ev.Delay) {
				break
			}
		}
		if d := time.Since(begin); len(took) < cap(took) {
			took = append(took, d/2)
		}
	}
	stop.Store(true)
	<-done
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
}
