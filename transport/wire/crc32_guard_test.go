//go:build linux

package wire

import (
	"bytes"
	"hash/crc32"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// guarded returns memory between two pages that cannot be accessed: a load or store outside dies.
func guarded(t *testing.T, pages int) []byte {
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, (pages+2)*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(mem)) })
	require.NoError(t, syscall.Mprotect(mem[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(mem[(pages+1)*page:], syscall.PROT_NONE))
	room := mem[page : (pages+1)*page]
	for i := range room {
		room[i] = byte(i * 7)
	}
	return room
}

// TestNothingOutsideIsRead sums messages that begin where readable memory does, and that end where
// it ends.
func TestNothingOutsideIsRead(t *testing.T) {
	room := guarded(t, 3)
	for n := range 2 * syscall.Getpagesize() {
		for _, p := range [][]byte{room[:n], room[len(room)-n:]} {
			for name, got := range crcWays(uint32(n), p) {
				require.Equal(t, crc32.Update(uint32(n), crc32.IEEETable, p), got, "%s: %d", name,
					n)
			}
		}
	}
}

// TestNothingOutsideIsCopied copies between both ends of accessible memory.
func TestNothingOutsideIsCopied(t *testing.T) {
	from, to := guarded(t, 2), guarded(t, 2)
	for n := range 5001 {
		for _, src := range [][]byte{from[:n], from[len(from)-n:]} {
			want := crc32.Update(uint32(n), crc32.IEEETable, src)
			for _, dst := range [][]byte{to[:n], to[len(to)-n:]} {
				clear(dst)
				require.Equal(t, want, copyCRC(uint32(n), dst, src), n)
				require.True(t, bytes.Equal(src, dst), n)
			}
		}
	}
}
