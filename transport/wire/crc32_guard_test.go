//go:build linux

package wire

import (
	"hash/crc32"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingOutsideIsRead sums messages that begin where readable memory does, and that end where
// it ends: a load of anything else dies.
func TestNothingOutsideIsRead(t *testing.T) {
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 5*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mem)) }()
	require.NoError(t, syscall.Mprotect(mem[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(mem[4*page:], syscall.PROT_NONE))
	room := mem[page : 4*page]
	for i := range room {
		room[i] = byte(i * 7)
	}
	for n := range 2 * page {
		for _, p := range [][]byte{room[:n], room[len(room)-n:]} {
			for name, got := range crcWays(uint32(n), p) {
				require.Equal(t, crc32.Update(uint32(n), crc32.IEEETable, p), got, "%s: %d", name,
					n)
			}
		}
	}
}
