package engine

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
)

// maxShared limits how much shared memory all sessions have: a process may have 65530 mappings
// (vm.max_map_count), of which Go's heap needs some.
const maxShared = 32768

// shared is memory that we and a program map. The program cannot change its size: an access past
// the end of a file that it made shorter would end this process.
type shared struct {
	fd    int // -1 once sent
	bytes []byte
	count *atomic.Int32 // of all sessions' shared memory
}

// newShared makes shared memory of the engine.
func (e *Engine) newShared(name string, size int) (*shared, error) {
	if e.sharedCount.Add(1) > maxShared {
		e.sharedCount.Add(-1)
		return nil, fmt.Errorf("%d objects with shared memory: %w", maxShared, transport.ErrLimit)
	}
	m, err := newShared(name, size)
	if err != nil {
		e.sharedCount.Add(-1)
		return nil, err
	}
	m.count = &e.sharedCount
	return m, nil
}

func newShared(name string, size int) (*shared, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	m := &shared{fd: fd}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		m.bytes, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%d bytes of shared memory: %w", size, err)
	}
	return m, nil
}

// sent closes the descriptor; the mapping stays.
func (m *shared) sent() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

func (m *shared) close() {
	m.sent()
	if m.bytes != nil {
		_ = unix.Munmap(m.bytes)
		m.bytes = nil
	}
	if m.count != nil {
		m.count.Add(-1)
		m.count = nil
	}
}
