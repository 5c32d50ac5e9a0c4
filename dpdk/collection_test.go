package dpdk_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

// TestCollectionsDuringBursts: goroutines that call C all the time, of which the scheduler is not
// informed, are preempted between the calls. Collections make progress.
func TestCollectionsDuringBursts(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{})
	stop, sent := make(chan struct{}), make(chan int)
	for _, d := range []*dpdk.Device{a, b} {
		go func() {
			frames := 0
			for q := d.Queue(0); ; frames += exchange(q) {
				select {
				case <-stop:
					sent <- frames
					return
				default:
				}
			}
		}()
	}
	for range 20 {
		runtime.GC()
	}
	close(stop)
	require.Positive(t, <-sent)
	require.Positive(t, <-sent)
}

// exchange receives a burst and sends another. It returns the number of frames sent.
func exchange(q *dpdk.Queue) int {
	var bufs [32]packet.Buf
	q.Free(bufs[:q.Recv(bufs[:])])
	n := q.Alloc(bufs[:4])
	for i := range bufs[:n] {
		bufs[i].SetLen(60)
	}
	sent := q.Send(packet.ClassData, bufs[:n])
	q.Free(bufs[sent:n])
	return sent
}
