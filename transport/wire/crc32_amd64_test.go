//go:build !purego

package wire

import (
	"sync/atomic"
	"testing"
	"unsafe"
)

// crcWays returns crc continued over p, by every implementation that this processor supports.
func crcWays(crc uint32, p []byte) map[string]uint32 {
	ways := map[string]uint32{"updateCRC": updateCRC(crc, p)}
	if len(p) < minFold {
		return ways
	}
	o := newOverlay(&noMask, crc)
	if hasPCLMUL {
		ways["PCLMUL"] = foldPCLMUL(&p[0], len(p), &o)
	}
	if hasAVX512 {
		ways["AVX512"] = foldAVX512(&p[0], len(p), &o)
	}
	return ways
}

// icrcWays returns the invariant CRC of p in every way that this processor has.
func icrcWays(p []byte, v6 bool) map[string]uint32 {
	ways := map[string]uint32{"icrc": icrc(p, v6)}
	o := &overlay4
	if v6 {
		o = &overlay6
	}
	if hasPCLMUL {
		ways["PCLMUL"] = foldPCLMUL(&p[0], len(p), o)
	}
	if hasAVX512 {
		ways["AVX512"] = foldAVX512(&p[0], len(p), o)
	}
	return ways
}

// TestCopyOfChangingMemory copies memory that another thread changes: the sum is that of what
// arrived. A program may write to a region while it is sent, and must not cause a wrong ICRC.
func TestCopyOfChangingMemory(t *testing.T) {
	if !hasAVX512 {
		t.Skip("copyAVX512 needs AVX-512 and VPCLMULQDQ")
	}
	words := make([]uint64, 1100/8)
	src := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	var halt atomic.Bool
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(began)
		for v := uint64(1); !halt.Load(); v++ {
			for i := range words {
				atomic.StoreUint64(&words[i], v)
			}
		}
	}()
	<-began
	defer func() { halt.Store(true); <-ended }()
	dst := make([]byte, len(src))
	for n := minCopy; n <= len(src); n++ {
		for range 200 {
			got := copyAVX512(&dst[0], &src[0], n, 7)
			if got != updateCRC(7, dst[:n]) {
				t.Fatalf("the sum of %d bytes is not that of the copy", n)
			}
		}
	}
}
