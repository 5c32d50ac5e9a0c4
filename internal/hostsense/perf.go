package hostsense

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// Event is a hardware event: perf_event's type in the low 8 bits, its config above.
type Event uint64

// The events.
const (
	Cycles Event = unix.PERF_COUNT_HW_CPU_CYCLES<<8 | unix.PERF_TYPE_HARDWARE
	// CacheMisses are mostly those of the last level.
	CacheMisses   Event = unix.PERF_COUNT_HW_CACHE_MISSES<<8 | unix.PERF_TYPE_HARDWARE
	CacheRefs     Event = unix.PERF_COUNT_HW_CACHE_REFERENCES<<8 | unix.PERF_TYPE_HARDWARE
	LLCLoads      Event = llcLoads<<8 | unix.PERF_TYPE_HW_CACHE
	LLCLoadMisses Event = (llcLoads|unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16)<<8 |
		unix.PERF_TYPE_HW_CACHE
)

// llcLoads is the config of last-level cache loads (perf_event_open(2), PERF_TYPE_HW_CACHE).
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

// Counter counts an event on one processor for all programs.
type Counter struct{ fd int }

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

// PerSecond returns a Sampler of the event rate since the last sample.
func (c *Counter) PerSecond() Sampler {
	var last uint64
	var at units.Time
	started := false
	return func(now units.Time) (float64, bool) {
		n, err := c.Read()
		if err != nil {
			return 0, false
		}
		delta, elapsed, first := n-last, now.Sub(at), !started
		last, at, started = n, now, true
		if first || elapsed <= 0 {
			return 0, false
		}
		return float64(delta) / elapsed.Seconds(), true
	}
}

// Misses returns a Sampler of the fraction, from 0 to 1, of a processor's last-level cache loads
// that missed since the last sample, as carc's Sensor needs it. close closes the counters.
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

// missShare returns a Sampler of the fraction of loads that missed.
func missShare(misses, loads func() (uint64, error)) Sampler {
	var missed, loaded uint64
	started := false
	return func(units.Time) (float64, bool) {
		m, err := misses()
		l, err2 := loads()
		if err != nil || err2 != nil {
			return 0, false
		}
		some, all, first := m-missed, l-loaded, !started
		missed, loaded, started = m, l, true
		if first || all == 0 {
			return 0, false
		}
		return min(1, float64(some)/float64(all)), true
	}
}

// Close closes the counter.
func (c *Counter) Close() error { return unix.Close(c.fd) }
