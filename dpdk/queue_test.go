package dpdk_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

// frames allocates n numbered frames on q.
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
	for _, way := range []struct{ from, to *dpdk.Queue }{{a.Queue(0), b.Queue(0)},
		{b.Queue(0), a.Queue(0)}} {
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

func TestAllocIsShortOnExhaustion(t *testing.T) {
	a, _ := dpdktest.Loop(t, dpdk.Options{Buffers: 100})
	q := a.Queue(0)
	bufs := make([]packet.Buf, 300)
	require.Equal(t, 100, q.Alloc(bufs))
	require.Zero(t, q.Alloc(bufs[100:]))
	q.Free(bufs[:100])
	free(t, a, 100)
}

func TestAllocIsShortOnExhaustionWithACache(t *testing.T) {
	a, _ := dpdktest.Loop(t, dpdk.Options{Buffers: 1000})
	dpdktest.Register(t)
	q := a.Queue(0)
	bufs := make([]packet.Buf, 1200)
	for range 3 {
		require.Equal(t, 1000, q.Alloc(bufs))
		q.Free(bufs[:1000])
	}
	free(t, a, 1000)
}

func TestSendIsShortWhenTheRingIsFull(t *testing.T) {
	a := dpdktest.Open(t, "loop:full,depth=100", dpdk.Options{})
	b := dpdktest.Open(t, "loop:full", dpdk.Options{})
	require.Equal(t, 100, a.Info().TxDepth)
	sent := frames(t, a.Queue(0), 150)
	require.Equal(t, 100, a.Queue(0).Send(packet.ClassData, sent))
	require.Zero(t, a.Queue(0).Send(packet.ClassData, sent[100:]), "the rest stays ours")
	got := receive(b.Queue(0), 150)
	require.Len(t, got, 100)
	require.Equal(t, 50, a.Queue(0).Send(packet.ClassData, sent[100:]))
	rest := receive(b.Queue(0), 50)
	require.Equal(t, "frame 0100", string(rest[0].Data()[:10]))
	a.Queue(0).Free(got)
	b.Queue(0).Free(rest)
	free(t, a, dpdk.DefaultBuffers)
}

// free waits until all n buffers of the device are back in its pool.
func free(t *testing.T, d *dpdk.Device, n int) {
	t.Helper()
	s, err := d.Stats()
	require.NoError(t, err)
	require.Equal(t, n, s.Buffers)
	require.Equal(t, n, s.BuffersFree)
}

func TestFreeTakesBuffersOfSeveralPools(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{})
	var mixed []packet.Buf
	for range 10 {
		mixed = append(append(mixed, frames(t, a.Queue(0), 3)...), frames(t, b.Queue(0), 2)...)
	}
	b.Queue(0).Free(mixed)
	free(t, a, dpdk.DefaultBuffers)
	free(t, b, dpdk.DefaultBuffers)
}

func TestReceivedFrameCanBeSentOn(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{})
	a.Queue(0).Send(packet.ClassData, frames(t, a.Queue(0), 1))
	got := receive(b.Queue(0), 1)
	got[0].SetLen(len(got[0].Room()))
	require.Equal(t, 1, b.Queue(0).Send(packet.ClassData, got))
	back := receive(a.Queue(0), 1)
	require.Equal(t, got[0].Len(), back[0].Len())
	require.GreaterOrEqual(t, back[0].Len(), int(a.Info().MTU)+18)
	a.Queue(0).Free(back)
	free(t, a, dpdk.DefaultBuffers)
}

func TestHigherClassOvertakes(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{Classes: int(packet.Classes)})
	require.EqualValues(t, packet.Classes, a.Info().Classes)
	for class := packet.ClassData; class < packet.Classes+2; class++ {
		bufs := frames(t, a.Queue(0), 1)
		bufs[0].Data()[0] = byte('0' + class)
		require.Equal(t, 1, a.Queue(0).Send(class, bufs), "classes beyond the last share its queue")
	}
	got := receive(b.Queue(0), 5)
	order := ""
	for i := range got {
		order += string(got[i].Data()[0])
	}
	require.Equal(t, "23410", order)
	b.Queue(0).Free(got)
}

func TestLoopOfSeveralQueues(t *testing.T) {
	url := "loop:queues"
	a := dpdktest.Open(t, url, dpdk.Options{Queues: 2})
	b := dpdktest.Open(t, url, dpdk.Options{Queues: 4})
	require.Equal(t, 2, a.Queues())
	require.Equal(t, 2, b.Queues(), "the first decides")
	for i := range 2 {
		a.Queue(i).Send(packet.ClassData, frames(t, a.Queue(i), 5+i))
		require.Empty(t, receive(b.Queue(1-i), 1))
		got := receive(b.Queue(i), 10)
		require.Len(t, got, 5+i)
		b.Queue(i).Free(got)
	}
	require.NoError(t, b.Close())
	c := dpdktest.Open(t, url, dpdk.Options{Queues: 1})
	a.Queue(1).Send(packet.ClassData, frames(t, a.Queue(1), 7))
	got := receive(c.Queue(0), 7)
	require.Len(t, got, 7, "one queue polls what the other end sends on two")
	c.Queue(0).Free(got)
}

func TestLoopEndsAndLink(t *testing.T) {
	up := func(d *dpdk.Device) bool {
		link, err := d.Link()
		require.NoError(t, err)
		return link.Up
	}
	a := dpdktest.Open(t, "loop:ends", dpdk.Options{})
	require.False(t, up(a))
	b := dpdktest.Open(t, "loop:ends", dpdk.Options{})
	require.True(t, up(a) && up(b))
	_, err := dpdk.Open("loop:ends", dpdk.Options{})
	require.ErrorIs(t, err, dpdk.ErrTaken)
	require.ErrorContains(t, err, "both ends of loop:ends are taken")

	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	_, err = b.Link()
	require.ErrorIs(t, err, dpdk.ErrClosed)
	_, err = b.Stats()
	require.ErrorIs(t, err, dpdk.ErrClosed)
	require.False(t, up(a))

	a.Queue(0).Send(packet.ClassData, frames(t, a.Queue(0), 3))
	b = dpdktest.Open(t, "loop:ends", dpdk.Options{})
	require.Empty(t, receive(b.Queue(0), 1), "what was sent while nobody listened is lost")
	free(t, a, dpdk.DefaultBuffers)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())

	c := dpdktest.Open(t, "loop:ends", dpdk.Options{Queues: 3})
	require.Equal(t, 3, c.Queues(), "the name is free again")
}

func TestCloseWithFramesUnderWayLeaksNothing(t *testing.T) {
	for i := range 60 { // each pair takes 40 MB: without reuse EAL's memory would not suffice
		a, err := dpdk.Open("loop:leak", dpdk.Options{})
		require.NoError(t, err, "round %d", i)
		b, err := dpdk.Open("loop:leak", dpdk.Options{})
		require.NoError(t, err, "round %d", i)
		a.Queue(0).Send(packet.ClassData, frames(t, a.Queue(0), 200))
		held := receive(b.Queue(0), 100)
		require.NoError(t, a.Close())
		require.Equal(t, "frame 0042", string(held[42].Data()[:10]), "still ours")
		b.Queue(0).Free(held)
		require.NoError(t, b.Close())
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	if underASan {
		t.Skip("with -asan, what cgo hands to C is allocated")
	}
	a, b := dpdktest.Loop(t, dpdk.Options{})
	dpdktest.Register(t)
	tx, rx := a.Queue(0), b.Queue(0)
	var port packet.Port = tx
	bufs := make([]packet.Buf, packet.Burst)
	n := testing.AllocsPerRun(1000, func() {
		got := port.Alloc(bufs)
		for i := range bufs[:got] {
			bufs[i].SetLen(64)
		}
		port.Send(packet.ClassData, bufs[:got])
		rx.Free(bufs[:rx.Recv(bufs)])
		port.Info()
	})
	require.Zero(t, n)
}

func TestStatsCount(t *testing.T) {
	a, b := dpdktest.Loop(t, dpdk.Options{})
	a.Queue(0).Send(packet.ClassData, frames(t, a.Queue(0), 9))
	b.Queue(0).Free(receive(b.Queue(0), 9))
	sent, err := a.Stats()
	require.NoError(t, err)
	got, err := b.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 9, sent.TxFrames)
	require.EqualValues(t, 9, got.RxFrames)
}
