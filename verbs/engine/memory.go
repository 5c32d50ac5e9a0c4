package engine

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// Memory resolves the addresses of a program.
type Memory interface {
	// Map returns the program's n bytes at an address, which must stay accessible until Unmap. It
	// fails with unix.EFAULT if the program has no such memory, or cannot write it and write is
	// set.
	Map(addr, n uint64, write bool) ([]byte, error)
	Unmap(mem []byte)
}

// Local is the Memory of this process.
type Local struct{}

// Map implements Memory. It makes all pages present, as an adapter's driver pins them; that the
// program keeps them until it deregisters the region is its duty.
func (Local) Map(addr, n uint64, write bool) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n > math.MaxInt64 || addr+n < addr || addr == 0 {
		return nil, unix.EFAULT
	}
	page := uint64(unix.Getpagesize())
	first := addr &^ (page - 1)
	last := (addr + n + page - 1) &^ (page - 1)
	advice := uintptr(unix.MADV_POPULATE_READ)
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	for {
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(first), uintptr(last-first), advice)
		switch {
		case errno == unix.EINTR || errno == unix.EAGAIN:
			continue
		case errno == unix.EINVAL: // before Linux 5.14, or memory of a device
			return local(addr, n), nil
		case errno == unix.ENOMEM:
			return nil, unix.EFAULT
		case errno != 0:
			return nil, errors.Join(unix.EFAULT, errno)
		}
		return local(addr, n), nil
	}
}

// Unmap implements Memory.
func (Local) Unmap([]byte) {}
