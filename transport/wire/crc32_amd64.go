//go:build !purego

package wire

import (
	"hash/crc32"
	"unsafe"
)

// The two implementations in crc32_amd64.s. Both read the n bytes from p on and nothing else.
// foldPCLMUL needs 16 bytes, and both need the four that the initial state is added to.

//go:noescape
func foldAVX512(p *byte, n int, o *overlay) uint32

//go:noescape
func foldPCLMUL(p *byte, n int, o *overlay) uint32

// copyAVX512 is the AVX-512 implementation that also copies the n bytes from src to dst, which must
// not overlap. It needs 64 bytes and accesses nothing else.
//
//go:noescape
func copyAVX512(dst, src *byte, n int, crc uint32) uint32

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() (eax, edx uint32)

// minFold is the length of the shortest message that both implementations can read.
const minFold = 16

// minCopy is the length of the shortest message that copyAVX512 can copy.
const minCopy = 64

// The implementations that the processor and the operating system support.
var hasAVX512, hasPCLMUL = features()

func features() (avx512, pclmul bool) {
	const (
		pclmulqdq = 1 << 1 // leaf 1, ecx
		ssse3     = 1 << 9
		sse41     = 1 << 19
		osxsave   = 1 << 27

		avx2       = 1 << 5 // leaf 7, ebx
		avx512f    = 1 << 16
		avx512bw   = 1 << 30
		vpclmulqdq = 1 << 10 // leaf 7, ecx

		zmmState = 0xe6 // xcr0: SSE, AVX, mask registers and both parts of AVX-512
	)
	last, _, _, _ := cpuid(0, 0)
	_, _, c1, _ := cpuid(1, 0)
	pclmul = c1&pclmulqdq != 0 && c1&ssse3 != 0 && c1&sse41 != 0
	if last < 7 || c1&osxsave == 0 {
		return false, pclmul
	}
	state, _ := xgetbv()
	_, b7, c7, _ := cpuid(7, 0)
	const wanted = avx2 | avx512f | avx512bw
	return pclmul && state&zmmState == zmmState && b7&wanted == wanted && c7&vpclmulqdq != 0, pclmul
}

// hasCopyCRC is whether copyCRC reads its source once.
var hasCopyCRC = hasAVX512

// updateCRC continues crc over p, as hash/crc32's Update with the IEEE polynomial. It serves XDATA
// with telemetry; icrc calls the fold directly.
func updateCRC(crc uint32, p []byte) uint32 {
	if len(p) < minFold || !hasPCLMUL {
		return crc32.Update(crc, crc32.IEEETable, p)
	}
	o := newOverlay(&noMask, crc)
	if hasAVX512 {
		return foldAVX512(unsafe.SliceData(p), len(p), &o)
	}
	return foldPCLMUL(unsafe.SliceData(p), len(p), &o)
}

// copyCRC copies src to dst, which has its length, and continues crc over it. The two must not
// overlap.
func copyCRC(crc uint32, dst, src []byte) uint32 {
	if len(src) < minCopy || !hasAVX512 {
		return copyThenSum(crc, dst, src)
	}
	_ = dst[:len(src)]
	return copyAVX512(unsafe.SliceData(dst), unsafe.SliceData(src), len(src), crc)
}

var (
	noMask   [maskLen]byte
	overlay4 = newOverlay(&mask4, lrhState)
	overlay6 = newOverlay(&mask6, lrhState)
)

// icrc returns the invariant CRC of b, which reaches from the IP header to the pad.
func icrc(b []byte, v6 bool) uint32 {
	o := &overlay4
	if v6 {
		o = &overlay6
	}
	if hasAVX512 {
		return foldAVX512(unsafe.SliceData(b), len(b), o)
	}
	if hasPCLMUL {
		return foldPCLMUL(unsafe.SliceData(b), len(b), o)
	}
	return icrcGeneric(b, v6)
}
