package dpdk_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
)

// TestWatchersSeeADeviceOrThatItIsClosed reads what any goroutine may read until Close.
func TestWatchersSeeADeviceOrThatItIsClosed(t *testing.T) {
	memif := "memif:" + t.TempDir() + "/s"
	for range 50 {
		for _, url := range []string{"loop:watched", "null:", memif, memif + ",client"} {
			d, err := dpdk.Open(url, dpdk.Options{})
			require.NoError(t, err)
			var watchers, reading sync.WaitGroup
			for range 3 {
				reading.Add(1)
				watchers.Go(func() {
					for i := 0; ; i++ {
						s, err := d.Stats()
						if i == 0 {
							reading.Done()
						}
						if err != nil {
							require.ErrorIs(t, err, dpdk.ErrClosed)
							return
						}
						if s.Buffers != dpdk.DefaultBuffers || s.BuffersFree != s.Buffers {
							t.Errorf("%d of %d buffers are free", s.BuffersFree, s.Buffers)
						}
						if _, err = d.Link(); err != nil {
							require.ErrorIs(t, err, dpdk.ErrClosed)
						}
						_, _, _ = d.Info(), d.Queues(), d.Queue(0).Info()
					}
				})
			}
			reading.Wait()
			require.NoError(t, d.Close())
			_, err = d.Stats()
			require.ErrorIs(t, err, dpdk.ErrClosed)
			_, err = d.Link()
			require.ErrorIs(t, err, dpdk.ErrClosed)
			require.NoError(t, d.Close(), "once more")
			watchers.Wait()
		}
	}
}
