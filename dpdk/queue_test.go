package dpdk_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/dpdktest"
	"github.com/goroce/goroce/packet"
)

// frames allocates n frames on q, the i-th of which says so.
func frames(t testing.TB, q *dpdk.Queue, n int) []packet.Buf {
	t.Helper()
	bufs := make([]packet.Buf, n)
	require.Equal(t, n, q.Alloc(bufs))
	for i := range bufs {
		bufs[i].SetLen(copy(bufs[i].Room(), fmt.Sprintf("frame %04d %60s", i, "")))
	}
	return bufs
}

// receive polls q until it has n frames or no more come.
func receive(q *dpdk.Queue, n int) []packet.Buf {
	var got []packet.Buf
	burst := make([]packet.Buf, packet.Burst)
	for idle := 0; len(got) < n && idle < 1000; idle++ {
		if k := q.Recv(burst[:min(n-len(got), len(burst))]); k > 0 {
			got, idle = append(got, burst[:k]...), 0
		}
	}
	return got
}

func TestLoopDeliversInOrderBothWays(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{})
	for _, way := range []struct{ from, to *dpdk.Queue }{{a.Queue(0), b.Queue(0)}, {b.Queue(0), a.Queue(0)}} {
		sent := frames(t, way.from, 100)
		require.Equal(t, 100, way.from.Send(packet.ClassData, sent))
		got := receive(way.to, 100)
		require.Len(t, got, 100)
		for i := range got {
			require.Equal(t, fmt.Sprintf("frame %04d", i), string(got[i].Data()[:10]))
			require.Equal(t, 71, got[i].Len())
		}
		way.to.Free(got)
	}
	require.NotEqual(t, a.Info().MAC, b.Info().MAC)
}
