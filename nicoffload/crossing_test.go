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

// BenchmarkCrossing is the boundary between two cores: a signal goes up as a message, a result
// comes down, each core spinning. What it reports is half of the way there and back, without an
// algorithm.
func BenchmarkCrossing(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("two cores are needed, this machine has one")
	}
	n := newNIC(b, Config{})
	link := NewLink()
	board, err := link.Board(n)
	require.NoError(b, err)
	host, err := link.Host()
	require.NoError(b, err)
	board.Open(1, cc.Decision{}, 0)
	board.Poll(0)
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
		board.Report(1, &ev, 0)
		for {
			board.Poll(0)
			if board.Result(&r) && r.Decision.Window == units.Bytes(ev.Delay) {
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
