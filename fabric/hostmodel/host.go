package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Config says what a host is like.
type Config struct {
	PCIe   fabric.PCIe
	Memory MemoryConfig
	// Cache is the last-level cache, nil for a host without direct cache access: all that comes is
	// written to memory.
	Cache *CacheConfig
	IIO   IIO
}

// IIO is the I/O controller between PCIe and memory. It holds a line from when it comes to when it
// is written.
type IIO struct {
	Lines   int            // at most; 0 means 93 for each 100 Gb/s of PCIe, or no limit
	Latency units.Duration // of a line that memory need not hear of; 0 means 243 ns
}

// hostCC's machine has 65 lines in its I/O controller at 100 Gb/s when memory is idle and 93 when
// it is not (section 3 of its paper): 333 ns a line, of which memory takes 90.
const (
	defaultLatency    = 243 * units.Nanosecond
	defaultMemory     = 90 * units.Nanosecond
	defaultLines      = 93 // for each 100 Gb/s
	lineSize          = 64 // of what the I/O controller holds
	defaultLevelDelay = 22 * units.Microsecond
)

// Host is a computer behind its NIC. It implements fabric.Memory, and nicoffload.HostActuator.
type Host struct {
	Memory Memory
	Cache  *Cache // nil: none, and then no Queue, State or Walk

	pcie fabric.PCIe
	iio  IIO

	memory     Line // addresses given away
	free       int  // receive buffers
	unconsumed Line
	carried    uint64 // lines of the cache's traffic that are in traffic
	traffic    ratio  // of that to what the NIC wrote, lately

	now     units.Time // the latest that anybody said
	busy    units.Time // when PCIe is done with the last transfer
	through units.Time // and memory
	// Totals when PCIe is done, and what they grow by in a picosecond at the end.
	held, written           float64 // lines in the I/O controller times picoseconds; bytes
	occupancy, pace         float64
	heldBefore, wroteBefore sample
}

// ratio is that of two sums in which what is long ago counts less.
type ratio struct{ of, to, share float64 }

const forget = 1. / 64

func (r *ratio) add(of, to float64) {
	r.of += of - forget*r.of
	r.to += to - forget*r.to
	r.share = r.of / r.to
}

// sample is what was read before.
type sample struct {
	at    units.Time
	total float64
	begun bool
}

// New makes a host with nothing in its cache.
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
		return nil, fmt.Errorf("hostmodel: %+v: nothing of it may be negative", c)
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

// Lines answers the first of n lines of memory that nobody else has.
func (h *Host) Lines(n Line) Line {
	h.memory += n
	return h.memory - n
}

// Configure makes a host of the fabric one whose NIC writes through this one.
func (h *Host) Configure(c *fabric.HostConfig) { c.PCIe, c.Memory = h.pcie, h }

// Wrote implements fabric.Memory: the NIC has n bytes for memory, which takes longer than PCIe by
// what is answered. Memory carries them, or with a cache as much as that exchanged with memory for
// each byte lately. The bandwidth is that at the time of arrival, also for what has to wait.
func (h *Host) Wrote(now units.Time, n units.Bytes) units.Duration {
	h.now = now
	share := 1. // of the bytes that memory carries
	if h.Cache != nil {
		traffic := h.Cache.Stats.Traffic()
		h.traffic.add(float64(units.Bytes(traffic-h.carried)*h.Cache.Line), float64(n))
		h.carried = traffic
		share = h.traffic.share
	}
	left := h.Memory.Left(now)
	across, through := carry(h.pcie.Rate, n), carry(left, units.Bytes(share*float64(n)))
	lines, full := float64(n)/lineSize, float64(h.iio.Lines)
	latency := float64(h.iio.Latency) + min(share, 1)*float64(h.Memory.Latency)
	// PCIe goes on until the I/O controller is full of what waits for memory.
	start := later(h.busy, now)
	h.through = later(h.through, now).Add(through)
	ahead := max(0, float64(carry(left, units.Bytes(full*lineSize)))-latency)
	took := max(across, h.through.Sub(start)-units.Duration(ahead))
	if full > 0 {
		took = max(took, units.Duration(lines*latency/full))
	}
	h.busy = start.Add(took)
	latency += float64(max(0, h.through.Sub(h.busy)))
	// Little's law: lines, for so long each, while they are transferred.
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

// carry answers how long n bytes take; a rate of 0 is no limit.
func carry(rate units.BitRate, n units.Bytes) units.Duration {
	if rate == 0 {
		return 0
	}
	return rate.Duration(n)
}

// Read implements fabric.Memory: what the NIC sends costs nothing beyond PCIe.
func (h *Host) Read(units.Time, units.Bytes) units.Duration { return 0 }

// Occupancy samples how many lines the I/O controller held on average since the sample before.
func (h *Host) Occupancy(now units.Time) (lines float64, ok bool) {
	grown, passed, ok := h.heldBefore.next(h.until(now, h.held, h.occupancy), now)
	return grown / float64(passed), ok
}

// Bandwidth samples how many Gb/s the NIC wrote since the sample before.
func (h *Host) Bandwidth(now units.Time) (gbps float64, ok bool) {
	grown, passed, ok := h.wroteBefore.next(h.until(now, h.written, h.pace), now)
	return grown * 8 / passed.Seconds() / 1e9, ok
}

// until answers what a total was at a time: what is still to come comes at the pace of the newest.
func (h *Host) until(now units.Time, total, pace float64) float64 {
	h.now = now
	return total - pace*float64(max(0, h.busy.Sub(now)))
}

// next answers what a total grew by, and in what time; not ok for the first time.
func (s *sample) next(total float64, now units.Time) (grown float64, passed units.Duration,
	ok bool) {
	grown, passed, ok = max(0, total-s.total), now.Sub(s.at), s.begun && now.After(s.at)
	*s = sample{now, total, true}
	if !ok {
		return 0, 1, false
	}
	return grown, passed, true
}

// Levels implements nicoffload.HostActuator: none, three that slow the antagonist, and one that
// stops it.
func (h *Host) Levels() int { return len(levels) }

// SetLevel implements nicoffload.HostActuator. The time is that of the last sample or transfer.
func (h *Host) SetLevel(level int) error {
	if level < 0 || level >= len(levels) {
		return fmt.Errorf("hostmodel: level %d of throttling: there are 0 to %d", level,
			len(levels)-1)
	}
	h.Memory.set(level, h.now)
	return nil
}
