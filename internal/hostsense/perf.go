package hostsense

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/units"
)

// Event is a hardware event: perf_event's type in the low 8 bits, its config above.
type Event uint64

// The events, with the numbers of Linux's perf_event.h.
const (
	Cycles Event = 0<<8 | typeHardware
	// CacheMisses are mostly those of the last level.
	CacheMisses   Event = 3<<8 | typeHardware
	CacheRefs     Event = 2<<8 | typeHardware
	LLCLoads      Event = llcLoads<<8 | typeCache
	LLCLoadMisses Event = (llcLoads|1<<16)<<8 | typeCache
)

const (
	typeHardware = 0
	typeCache    = 3
	// llcLoads is the config of last-level cache loads: PERF_COUNT_HW_CACHE_LL, OP_READ.
	llcLoads = 2
)

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
