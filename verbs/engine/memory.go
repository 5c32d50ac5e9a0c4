package engine

import (
	"errors"
	"math"
	"sync"

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
		case errno == unix.EINVAL && !populates():
			return local(addr, n), nil
		case errno == unix.ENOMEM, errno == unix.EINVAL: // not mapped, or not writable
			return nil, unix.EFAULT
		case errno != 0:
			return nil, errors.Join(unix.EFAULT, errno)
		}
		return local(addr, n), nil
	}
}

// populates reports whether the kernel has MADV_POPULATE_READ, since Linux 5.14.
var populates = sync.OnceValue(func() bool {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(page) }()
	return unix.Madvise(page, unix.MADV_POPULATE_READ) == nil
})

// Unmap implements Memory.
func (Local) Unmap([]byte) {}
