package hostsense

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// Event is something that the processor can count.
type Event uint64

// The events.
const (
	Cycles      Event = unix.PERF_COUNT_HW_CPU_CYCLES
	CacheMisses Event = unix.PERF_COUNT_HW_CACHE_MISSES // mostly of the last level
	CacheRefs   Event = unix.PERF_COUNT_HW_CACHE_REFERENCES
)

func (e Event) String() string {
	switch e {
	case Cycles:
		return "cycles"
	case CacheMisses:
		return "cache misses"
	case CacheRefs:
		return "cache references"
	}
	return fmt.Sprintf("event %d", uint64(e))
}

// Counter counts an event on one processor, whatever runs there.
type Counter struct{ fd int }

// Count begins to count an event on a processor. It is always of this machine.
func (h *Host) Count(e Event, cpu int) (*Counter, error) {
	what := "perf_event counter of " + e.String()
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: uint64(e), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case err == nil:
		return &Counter{fd}, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		return nil, &Absent{what, "the processor, or its hypervisor, has none: " + err.Error()}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, &Absent{what, "not permitted (kernel.perf_event_paranoid): " + err.Error()}
	}
	return nil, fmt.Errorf("hostsense: %s on processor %d: %w", what, cpu, err)
}

// Read answers the count since the beginning.
func (c *Counter) Read() (uint64, error) {
	var b [8]byte
	if n, err := unix.Read(c.fd, b[:]); err != nil || n != len(b) {
		return 0, fmt.Errorf("hostsense: reading a counter: %d bytes, %w", n, err)
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

// PerSecond samples the rate of the count since the sample before.
func (c *Counter) PerSecond() Sampler {
	var last uint64
	var at units.Time
	began := false
	return func(now units.Time) (float64, bool) {
		n, err := c.Read()
		if err != nil {
			return 0, false
		}
		grown, passed, first := n-last, now.Sub(at), !began
		last, at, began = n, now, true
		if first || passed <= 0 {
			return 0, false
		}
		return float64(grown) / passed.Seconds(), true
	}
}

// Close ends it.
func (c *Counter) Close() error { return unix.Close(c.fd) }
