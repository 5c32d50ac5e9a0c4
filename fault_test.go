package goroce

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk/faults"
)

// TestOpenOfAHostFails injects a failure into each call that opening a host makes, one at a time.
func TestOpenOfAHostFails(t *testing.T) {
	const mostCalls = 1000
	for _, url := range []string{"loop:fails", "memif:" + t.TempDir() + "/s"} {
		opens(t, url) // allocates what EAL, the driver and Go never release
		for n := 1; ; n++ {
			require.Less(t, n, mostCalls)
			// See TestOpenFails in package dpdk.
			before := faults.Count(t).Plus(faults.Census{Heap: 1 << 10})
			faults.Arm(t, n, "")
			h, err := Open(url, Options{Queues: 2})
			failed := faults.Disarm()
			if failed == "" {
				require.NoError(t, err)
				require.NoError(t, h.Close())
				break
			}
			what := fmt.Sprint(url, ": call ", n, ", ", failed)
			if err == nil {
				require.NoError(t, h.Close(), what)
			} else {
				require.ErrorContains(t, err, "goroce: open", what)
				require.ErrorContains(t, err, url, what)
			}
			faults.Unchanged(t, before, what)
			opens(t, url)
		}
	}
}

func opens(t *testing.T, url string) {
	t.Helper()
	h, err := Open(url, Options{Queues: 2})
	require.NoError(t, err)
	require.NoError(t, h.Close())
}
