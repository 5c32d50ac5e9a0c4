package dpdk_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/faults"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

// removable opens a port, and returns it as EAL knows it, too.
func removable(t *testing.T, url string, opts dpdk.Options) (d *dpdk.Device, port faults.Port) {
	t.Helper()
	return d, faults.PortOf(t, func() {
		var err error
		d, err = dpdk.Open(url, opts)
		require.NoError(t, err)
	})
}

// removableURLs are ports of the kinds that need no privilege.
func removableURLs(t *testing.T) []string {
	memif := "memif:" + t.TempDir() + "/s"
	return []string{"loop:removed", "null:", memif, memif + ",client"}
}

// TestRemoval: a port whose hardware is removed says so and does nothing more, and gives everything
// back when it is closed. The port that gets its number next works.
func TestRemoval(t *testing.T) {
	dpdktest.Register(t)
	for _, url := range removableURLs(t) {
		t.Run(strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			opens(t, url)
			before := faults.Count(t).Plus(faults.Census{Heap: 1 << 10}) // null, see TestOpenFails
			var log bytes.Buffer
			d, port := removable(t, url, dpdk.Options{
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			port.Remove(t)
			removed(t, d)
			require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
			require.Contains(t, log.String(), d.Info().Name)
			require.NoError(t, d.Close())
			_, err := d.Link()
			require.ErrorIs(t, err, dpdk.ErrClosed)
			faults.Unchanged(t, before, "closed")

			again, same := removable(t, url, dpdk.Options{})
			require.Equal(t, port.Number, same.Number)
			_, err = again.Stats()
			require.NoError(t, err)
			_, err = again.Link()
			require.NoError(t, err)
			require.NoError(t, again.Close())
			faults.Unchanged(t, before, "opened again")
		})
	}
}

// removed asserts what a device does that has been removed.
func removed(t *testing.T, d *dpdk.Device) {
	t.Helper()
	q := d.Queue(0)
	bufs := make([]packet.Buf, 100)
	require.Len(t, bufs, q.Alloc(bufs))
	for i := range bufs {
		bufs[i].SetLen(100)
	}
	require.Equal(t, len(bufs), q.Send(0, bufs), "dropped")
	require.Zero(t, q.Recv(bufs))
	select {
	case <-d.Removed():
	default:
		t.Error("the removal was not noticed")
	}
	link, err := d.Link()
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	require.False(t, link.Up)
	s, err := d.Stats()
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	require.EqualValues(t, len(bufs), s.TxRemoved)
	require.Equal(t, s.Buffers, s.BuffersFree)
	require.Zero(t, s.TxFrames)
}

// TestRemovedDriverFails: what the driver of a removed device cannot do does not make Close fail.
func TestRemovedDriverFails(t *testing.T) {
	for _, url := range removableURLs(t) {
		for _, call := range []string{"rte_eth_dev_info_get", "rte_eth_dev_stop",
			"rte_eth_dev_close"} {
			opens(t, url)
			before := faults.Count(t).Plus(faults.Census{Heap: 1 << 10})
			d, port := removable(t, url, dpdk.Options{})
			port.Remove(t)
			faults.Arm(t, 1, call)
			require.NoError(t, d.Close(), "%s %s", url, call)
			faults.Disarm()
			faults.Unchanged(t, before, url+" "+call)
		}
	}
}

// TestRemovedNumberIsReused: EAL takes a removed port away and gives its number to another one
// before the first is closed.
func TestRemovedNumberIsReused(t *testing.T) {
	opens(t, "null:")
	before := faults.Count(t).Plus(faults.Census{Heap: 2 << 10})
	first, port := removable(t, "null:", dpdk.Options{})
	port.Remove(t)
	port.Unplug(t)
	second, same := removable(t, "null:", dpdk.Options{})
	require.Equal(t, port.Number, same.Number)
	_, err := first.Stats()
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	require.NoError(t, first.Close())
	_, err = second.Stats()
	require.NoError(t, err)
	same.Remove(t)
	_, err = second.Stats()
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	require.NoError(t, second.Close())
	faults.Unchanged(t, before, "both closed")
}

// TestWatchersOfARemovedDevice has many goroutines read a device's state while it is removed and
// closed.
func TestWatchersOfARemovedDevice(t *testing.T) {
	for _, url := range removableURLs(t) {
		opens(t, url)
		before := faults.Count(t).Plus(faults.Census{Heap: 64 << 10}) // null, see TestOpenFails
		for range 8 {
			d, port := removable(t, url, dpdk.Options{})
			var all, reading sync.WaitGroup
			for range 8 {
				reading.Add(1)
				all.Go(func() {
					for i, was := 0, error(nil); was != dpdk.ErrClosed; i++ {
						_, err := d.Stats()
						if i == 0 {
							reading.Done()
						}
						if was != nil {
							assert.Error(t, err, "after %v", was)
						}
						if was = err; err != nil && err != dpdk.ErrClosed {
							assert.Equal(t, dpdk.ErrRemoved, err)
						}
						if link, err := d.Link(); err != nil {
							assert.False(t, link.Up)
						}
					}
				})
			}
			reading.Wait()
			all.Go(func() { port.Remove(t) })
			time.Sleep(100 * time.Microsecond)
			<-d.Removed()
			all.Go(func() { assert.NoError(t, d.Close()) })
			all.Wait()
		}
		faults.Unchanged(t, before, url)
	}
}
