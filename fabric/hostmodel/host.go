package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Config configures a Host.
type Config struct {
	PCIe   fabric.PCIe
	Memory MemoryConfig
	// Cache is the last-level cache. It is nil for a host without direct cache access, whose NIC
	// writes everything to memory.
	Cache *CacheConfig
	IIO   IIO
}

// IIO configures the I/O controller between PCIe and memory, which holds each line from its arrival
// until it is written.
type IIO struct {
	Lines   int            // capacity; 0 means 93 per 100 Gb/s of PCIe, without a rate no limit
	Latency units.Duration // of a line, without memory; 0 means 243 ns
}

// hostCC measures 65 lines in the I/O controller at 100 Gb/s with idle memory and 93 with busy
// memory (section 3 of its paper). 65 lines correspond to 333 ns per line, of which memory takes 90
// ns.
const (
	defaultLatency    = 243 * units.Nanosecond
	defaultMemory     = 90 * units.Nanosecond
	defaultLines      = 93 // per 100 Gb/s
	lineSize          = 64 // bytes in a line of the I/O controller
	defaultLevelDelay = 22 * units.Microsecond
)

// Host models a host behind its NIC. It implements fabric.Memory and nicoffload.HostActuator.
type Host struct {
	Memory Memory
	Cache  *Cache // nil: none; Queue, State and Walk then do not work

	pcie fabric.PCIe
	iio  IIO

	memory     Line // lines allocated
	free       int  // free receive buffers
	unconsumed Line
	carried    uint64 // lines of the cache's memory traffic accounted for in traffic
	traffic    ratio  // recent ratio of memory traffic to bytes written by the NIC
	load       load   // of memory, with Queueing

	now     units.Time // time of the last transfer or sample
	busy    units.Time // end of the last transfer on PCIe
	through units.Time // end of the last transfer to memory
	// Totals at busy, and their growth per picosecond during the last transfer.
	held, written           float64 // line-picoseconds in the I/O controller; bytes
	occupancy, pace         float64
	heldBefore, wroteBefore sample
}

// ratio is the ratio of two exponentially decaying sums.
type ratio struct{ of, to, share float64 }

const decay = 1. / 64

func (r *ratio) add(of, to float64) {
	r.of += of - decay*r.of
	r.to += to - decay*r.to
	r.share = r.of / r.to
}

// sample is the previous sample of a total.
type sample struct {
	at    units.Time
	total float64
	begun bool
}

// New returns a host with an empty cache.
func New(c Config) (*Host, error) {
	if c.IIO.Latency == 0 {
		c.IIO.Latency = defaultLatency
	}
	if c.IIO.Lines == 0 && c.PCIe.Rate > 0 {
		c.IIO.Lines = max(1, int(defaultLines*c.PCIe.Rate/(100*units.Gbps)))
	}
	if c.Memory.Latency == 0 {
		c.Memory.Latency = defaultMemory
	}
	if c.Memory.LevelDelay == 0 {
		c.Memory.LevelDelay = defaultLevelDelay
	}
	if c.IIO.Lines < 0 || c.IIO.Latency < 0 || c.Memory.Bandwidth < 0 || c.Memory.Latency < 0 {
		return nil, fmt.Errorf("hostmodel: %+v: want no negative value", c)
	}
	h := &Host{Memory: Memory{MemoryConfig: c.Memory}, pcie: c.PCIe, iio: c.IIO}
	if c.Cache != nil {
		cache, err := NewCache(*c.Cache)
		if err != nil {
			return nil, err
		}
		h.Cache = cache
	}
	return h, nil
}

// Lines allocates n lines of memory and returns the first.
func (h *Host) Lines(n Line) Line {
	h.memory += n
	return h.memory - n
}

// Configure sets h as the memory and the PCIe of a fabric host.
func (h *Host) Configure(c *fabric.HostConfig) { c.PCIe, c.Memory = h.pcie, h }

// Write implements fabric.Memory. It returns by how much the write of n bytes to memory takes
// longer than on PCIe. Without a cache memory carries all bytes; with a cache it carries the recent
// ratio of the cache's memory traffic to the bytes written. The bandwidth at the time of arrival
// applies, also to data that have to wait.
func (h *Host) Write(now units.Time, n units.Bytes) units.Duration {
	h.now = now
	share := 1. // memory traffic per byte written
	if h.Cache != nil {
		traffic := h.Cache.Stats.Traffic()
		h.traffic.add(float64(units.Bytes(traffic-h.carried)*h.Cache.Line), float64(n))
		h.carried = traffic
		share = h.traffic.share
	}
	left := h.Memory.Left(now)
	across := transferTime(h.pcie.Rate, n)
	through := transferTime(left, units.Bytes(share*float64(n)))
	lines, full := float64(n)/lineSize, float64(h.iio.Lines)
	latency := float64(h.iio.Latency) + min(share, 1)*float64(h.LineLatency(now))
	// PCIe continues until the I/O controller is full of lines that wait for memory.
	start := later(h.busy, now)
	h.through = later(h.through, now).Add(through)
	ahead := max(0, float64(transferTime(left, units.Bytes(full*lineSize)))-latency)
	took := max(across, h.through.Sub(start)-units.Duration(ahead))
	if full > 0 {
		took = max(took, units.Duration(lines*latency/full))
	}
	h.busy = start.Add(took)
	latency += float64(max(0, h.through.Sub(h.busy)))
	// Little's law: the mean number of lines held is their number times their latency per time.
	h.held += lines * latency
	h.written += float64(n)
	h.occupancy, h.pace = 0, 0
	if took > 0 {
		h.occupancy, h.pace = lines*latency/float64(took), float64(n)/float64(took)
	}
	return took - across
}

func later(t, u units.Time) units.Time {
	if t.After(u) {
		return t
	}
	return u
}

// transferTime returns how long n bytes take at a rate; 0 means no limit.
func transferTime(rate units.BitRate, n units.Bytes) units.Duration {
	if rate == 0 {
		return 0
	}
	return rate.Duration(n)
}

// Read implements fabric.Memory. Reads by the NIC cost nothing beyond PCIe.
func (h *Host) Read(units.Time, units.Bytes) units.Duration { return 0 }

// Occupancy returns the mean number of lines in the I/O controller since the previous sample.
func (h *Host) Occupancy(now units.Time) (lines float64, ok bool) {
	grown, passed, ok := h.heldBefore.next(h.totalAt(now, h.held, h.occupancy), now)
	return grown / float64(passed), ok
}

// Bandwidth returns the rate at which the NIC wrote since the previous sample, in Gb/s.
func (h *Host) Bandwidth(now units.Time) (gbps float64, ok bool) {
	grown, passed, ok := h.wroteBefore.next(h.totalAt(now, h.written, h.pace), now)
	return grown * 8 / passed.Seconds() / 1e9, ok
}

// totalAt returns the value of a total at a time, at which the last transfer may be incomplete.
func (h *Host) totalAt(now units.Time, total, pace float64) float64 {
	h.now = now
	return total - pace*float64(max(0, h.busy.Sub(now)))
}

// next records a sample and returns the growth of the total since the previous one and the time
// between them. ok is false if there is none.
func (s *sample) next(total float64, now units.Time) (grown float64, passed units.Duration,
	ok bool) {
	grown, passed, ok = max(0, total-s.total), now.Sub(s.at), s.begun && now.After(s.at)
	*s = sample{now, total, true}
	if !ok {
		return 0, 1, false
	}
	return grown, passed, true
}

// Levels implements nicoffload.HostActuator. Level 0 does not throttle, levels 1 to 3 slow the
// antagonist down, and level 4 stops it.
func (h *Host) Levels() int { return len(levels) }

// SetLevel implements nicoffload.HostActuator. The level is set at the time of the last sample or
// transfer.
func (h *Host) SetLevel(level int) error {
	if level < 0 || level >= len(levels) {
		return fmt.Errorf("hostmodel: throttling level %d out of range [0, %d)", level, len(levels))
	}
	h.Memory.set(level, h.now)
	return nil
}
