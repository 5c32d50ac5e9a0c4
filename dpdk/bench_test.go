package dpdk_test

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

// perFrame reports the time per frame of a benchmark whose every iteration moves n frames.
func perFrame(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/frame")
}

// BenchmarkNull measures the cost of our side alone: the null device does nothing.
func BenchmarkNull(b *testing.B) {
	for _, n := range []int{1, 8, 32, 64} {
		b.Run(fmt.Sprintf("recv+free/burst=%d", n), func(b *testing.B) {
			q := dpdktest.Open(b, "null:", dpdk.Options{}).Queue(0)
			dpdktest.Register(b)
			bufs := make([]packet.Buf, n)
			for b.Loop() {
				q.Free(bufs[:q.Recv(bufs)])
			}
			perFrame(b, n)
		})
		b.Run(fmt.Sprintf("alloc+send/burst=%d", n), func(b *testing.B) {
			q := dpdktest.Open(b, "null:", dpdk.Options{}).Queue(0)
			dpdktest.Register(b)
			bufs := make([]packet.Buf, n)
			for b.Loop() {
				if q.Send(packet.ClassData, bufs[:q.Alloc(bufs)]) != n {
					b.Fatal("short send")
				}
			}
			perFrame(b, n)
		})
	}
}

// BenchmarkLoop measures the path of a frame between two ends: Alloc, Send, Recv, Free.
func BenchmarkLoop(b *testing.B) {
	for _, classes := range []int{1, int(packet.Classes)} {
		for _, n := range []int{1, 8, 32, 64} {
			b.Run(fmt.Sprintf("classes=%d/burst=%d", classes, n), func(b *testing.B) {
				from, to := dpdktest.Loop(b, dpdk.Options{Classes: classes})
				dpdktest.Register(b)
				tx, rx := from.Queue(0), to.Queue(0)
				bufs := make([]packet.Buf, n)
				for b.Loop() {
					sent := tx.Send(packet.ClassData, bufs[:tx.Alloc(bufs)])
					got := rx.Recv(bufs)
					if sent != n || got != n {
						b.Fatal(sent, got)
					}
					rx.Free(bufs)
				}
				perFrame(b, n)
			})
		}
	}
}

// BenchmarkEmptyPoll measures a poll of an empty port.
func BenchmarkEmptyPoll(b *testing.B) {
	for classes := 1; classes <= int(packet.Classes); classes++ {
		b.Run(fmt.Sprintf("classes=%d", classes), func(b *testing.B) {
			a, _ := dpdktest.Loop(b, dpdk.Options{Classes: classes})
			dpdktest.Register(b)
			q, bufs := a.Queue(0), make([]packet.Buf, packet.Burst)
			for b.Loop() {
				q.Recv(bufs)
			}
		})
	}
}

// BenchmarkPoolSize shows why pools are sized to the cache. Frames of 4 KiB go through a loop,
// written with a copy and a CRC and read with a copy and a CRC, as a transport does; only the
// number of buffers differs.
func BenchmarkPoolSize(b *testing.B) {
	const payload = 4096
	src, dst := make([]byte, payload), make([]byte, payload)
	for _, buffers := range []int{1023, 2047, 4095, 16383} {
		// depth is the number of frames in flight: the window of a sender, which the pool limits.
		b.Run(fmt.Sprintf("buffers=%d", buffers), func(b *testing.B) {
			url := fmt.Sprintf("loop:size%d,depth=%d", buffers, buffers-3*packet.Burst)
			opts := dpdk.Options{Buffers: buffers, MTU: payload}
			tx := dpdktest.Open(b, url, opts).Queue(0)
			rx := dpdktest.Open(b, url, opts).Queue(0)
			dpdktest.Register(b)
			bufs := make([]packet.Buf, packet.Burst)
			push := func() bool {
				got := tx.Alloc(bufs)
				for i := range bufs[:got] {
					copy(bufs[i].Room(), src)
					bufs[i].SetLen(payload)
					crc32.ChecksumIEEE(bufs[i].Data())
				}
				sent := tx.Send(packet.ClassData, bufs[:got])
				tx.Free(bufs[sent:got])
				return sent == len(bufs)
			}
			for push() {
			}
			b.SetBytes(payload * packet.Burst)
			for b.Loop() {
				got := rx.Recv(bufs)
				for i := range bufs[:got] {
					crc32.ChecksumIEEE(bufs[i].Data())
					copy(dst, bufs[i].Data())
				}
				rx.Free(bufs[:got])
				push()
			}
			b.ReportMetric(float64(b.N*packet.Burst*payload*8)/float64(b.Elapsed().Nanoseconds()),
				"Gb/s")
		})
	}
	require.Equal(b, src, dst)
}
