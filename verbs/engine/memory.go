package engine

import (
	"errors"
	"math"
	"sync"

	"golang.org/x/sys/unix"
)

// Memory resolves the addresses of a program.
type Memory interface {
	// Map returns what stands behind the program's n bytes at an address. It fails with unix.EFAULT
	// if the program has no such memory, or cannot write it and write is set, as far as that can be
	// known before they are used.
	Map(addr, n uint64, write bool) (mapping, error)
}

// mapping is what stands behind a range of a program's addresses: bytes of this process, or a range
// of another one.
type mapping struct {
	bytes   []byte
	foreign *foreignRange // nil: bytes
}

// Local is the Memory of this process.
type Local struct{}

// Map implements Memory. It makes all pages present, as an adapter's driver pins them; that the
// program keeps them until it deregisters the region is its duty.
func (Local) Map(addr, n uint64, write bool) (b mapping, err error) {
	if n == 0 {
		return b, nil
	}
	if n > math.MaxInt64 || addr+n < addr || addr == 0 {
		return b, unix.EFAULT
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
			return mapping{bytes: local(addr, n)}, nil
		case errno == unix.ENOMEM, errno == unix.EINVAL: // not mapped, or not writable
			return b, unix.EFAULT
		case errno != 0:
			return b, errors.Join(unix.EFAULT, errno)
		}
		return mapping{bytes: local(addr, n)}, nil
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
