package hostsense

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Count starts counting an event on a processor of this machine, whatever h's directory.
func (h *Host) Count(e Event, cpu int) (*Counter, error) {
	what := "perf_event counter of " + e.String()
	attr := unix.PerfEventAttr{Type: uint32(e & 0xff), Config: uint64(e >> 8),
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case err == nil:
		return &Counter{fd}, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV),
		errors.Is(err, unix.ENOSYS):
		return nil, &Absent{what, "not supported by the processor or its hypervisor: " +
			err.Error()}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, &Absent{what, "not permitted (kernel.perf_event_paranoid): " + err.Error()}
	}
	return nil, fmt.Errorf("hostsense: %s on processor %d: %w", what, cpu, err)
}

// Read returns the count since Count.
func (c *Counter) Read() (uint64, error) {
	var b [8]byte
	if n, err := unix.Read(c.fd, b[:]); err != nil || n != len(b) {
		return 0, fmt.Errorf("hostsense: read counter: %d bytes, want 8: %w", n, err)
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

// Close closes the counter.
func (c *Counter) Close() error { return unix.Close(c.fd) }
