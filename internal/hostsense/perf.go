package hostsense

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// Event is something that the processor can count: perf_event's type, and its number above that.
type Event uint64

// The events.
const (
	Cycles Event = unix.PERF_COUNT_HW_CPU_CYCLES<<8 | unix.PERF_TYPE_HARDWARE
	// mostly of the last level
	CacheMisses   Event = unix.PERF_COUNT_HW_CACHE_MISSES<<8 | unix.PERF_TYPE_HARDWARE
	CacheRefs     Event = unix.PERF_COUNT_HW_CACHE_REFERENCES<<8 | unix.PERF_TYPE_HARDWARE
	LLCLoads      Event = llcLoads<<8 | unix.PERF_TYPE_HW_CACHE
	LLCLoadMisses Event = (llcLoads|unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16)<<8 |
		unix.PERF_TYPE_HW_CACHE
)

// llcLoads is loads of the last-level cache (perf_event_open(2), PERF_TYPE_HW_CACHE).
const llcLoads = unix.PERF_COUNT_HW_CACHE_LL | unix.PERF_COUNT_HW_CACHE_OP_READ<<8

func (e Event) String() string {
	switch e {
	case Cycles:
		return "cycles"
	case CacheMisses:
		return "cache misses"
	case CacheRefs:
		return "cache references"
	case LLCLoads:
		return "loads of the last-level cache"
	case LLCLoadMisses:
		return "load misses of the last-level cache"
	}
	return fmt.Sprintf("event %d", uint64(e))
}

// Counter counts an event on one processor, whatever runs there.
type Counter struct{ fd int }

// Count begins to count an event on a processor. It is always of this machine.
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

// Misses samples which part of a processor's loads from the last-level cache missed since the
// sample before, 0 to 1: what carc's Sensor takes. close ends the counters.
func (h *Host) Misses(cpu int) (s Sampler, close func() error, err error) {
	loads, err := h.Count(LLCLoads, cpu)
	if err != nil {
		return nil, nil, err
	}
	misses, err := h.Count(LLCLoadMisses, cpu)
	if err != nil {
		return nil, nil, errors.Join(err, loads.Close())
	}
	return missShare(misses.Read, loads.Read), func() error {
		return errors.Join(misses.Close(), loads.Close())
	}, nil
}

// missShare samples which part of all was missed.
func missShare(misses, loads func() (uint64, error)) Sampler {
	var missed, loaded uint64
	began := false
	return func(units.Time) (float64, bool) {
		m, err := misses()
		l, err2 := loads()
		if err != nil || err2 != nil {
			return 0, false
		}
		some, all, first := m-missed, l-loaded, !began
		missed, loaded, began = m, l, true
		if first || all == 0 {
			return 0, false
		}
		return min(1, float64(some)/float64(all)), true
	}
}

// Close ends it.
func (c *Counter) Close() error { return unix.Close(c.fd) }
