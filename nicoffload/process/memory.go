package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memory is memory that processes share: an unnamed file, mapped.
type Memory struct {
	File  *os.File
	Bytes []byte
}

// NewMemory returns size bytes of zeros.
func NewMemory(size int) (*Memory, error) {
	fd, err := unix.MemfdCreate("goroce-nicoffload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("process: shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:goroce-nicoffload")
	if err := f.Truncate(int64(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("process: shared memory of %d bytes: %w", size, err)
	}
	return mapped(f, size)
}

// OpenMemory maps memory that another process has made.
func OpenMemory(f *os.File, size int) (*Memory, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("process: shared memory: %w", err)
	}
	if st.Size() < int64(size) { // access beyond the end would be a fault
		return nil, fmt.Errorf("process: shared memory of %d bytes, want %d", st.Size(), size)
	}
	return mapped(f, size)
}

func mapped(f *os.File, size int) (*Memory, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("process: mapping %d bytes: %w", size, err)
	}
	return &Memory{f, b}, nil
}

// Close unmaps the memory, which must no longer be in use.
func (m *Memory) Close() error {
	b := m.Bytes
	if m.Bytes = nil; b == nil {
		return nil
	}
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	return m.File.Close()
}
