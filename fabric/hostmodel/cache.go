package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Line is an address in memory, in cache lines.
type Line int64

// CacheConfig configures a last-level cache.
type CacheConfig struct {
	Size units.Bytes
	Line units.Bytes // 0 means 64
	Ways int
	DDIO int // number of ways in which the NIC allocates; Intel's default is 2
}

// Xeon4309Y is the cache of CARC's testbed: 12 MiB, 12 ways according to public data.
var Xeon4309Y = CacheConfig{Size: 12 * units.MiB, Ways: 12, DDIO: 2}

// Cache is a set-associative cache with LRU replacement. A line that the NIC writes is updated in
// place if it is cached, and otherwise allocated in one of the first DDIO ways. A line that the
// processor misses goes into an empty way, preferably not one of the DDIO ways, or replaces the
// least recently used line of the set.
type Cache struct {
	CacheConfig
	Stats CacheStats

	sets  Line
	slots []slot // Ways per set
	clock uint64 // number of accesses
}

// CacheStats counts lines.
type CacheStats struct {
	Writes, Allocated uint64 // lines written by the NIC; those not cached before
	Reads, Missed     uint64 // lines read by the program that the NIC wrote; those not cached
	Touches, Absent   uint64 // other lines accessed by the program; those not cached
	// EvictedByNIC and EvictedByCPU count evictions of useful lines, written by the NIC and not yet
	// read, by writes of the NIC and by misses of the processor.
	EvictedByNIC, EvictedByCPU uint64
	Fetched, WrittenBack       uint64 // from and to memory
}

// MissShare returns the share of Reads that missed, or 0 without reads.
func (s CacheStats) MissShare() float64 {
	if s.Reads == 0 {
		return 0
	}
	return float64(s.Missed) / float64(s.Reads)
}

// Since returns the counts since before.
func (s CacheStats) Since(before CacheStats) CacheStats {
	return CacheStats{
		Writes: s.Writes - before.Writes, Allocated: s.Allocated - before.Allocated,
		Reads: s.Reads - before.Reads, Missed: s.Missed - before.Missed,
		Touches: s.Touches - before.Touches, Absent: s.Absent - before.Absent,
		EvictedByNIC: s.EvictedByNIC - before.EvictedByNIC,
		EvictedByCPU: s.EvictedByCPU - before.EvictedByCPU,
		Fetched:      s.Fetched - before.Fetched, WrittenBack: s.WrittenBack - before.WrittenBack,
	}
}

// slot is one way of a set.
type slot struct {
	line   Line // none: empty
	used   uint64
	useful bool // written by the NIC and not yet read
	dirty  bool // not in memory
}

const none Line = -1

// NewCache returns an empty cache.
func NewCache(c CacheConfig) (*Cache, error) {
	if c.Line == 0 {
		c.Line = 64
	}
	set := c.Line * units.Bytes(c.Ways)
	switch {
	case c.Ways < 1 || c.Line < 1:
		return nil, fmt.Errorf("hostmodel: cache of %d ways of %v lines: want at least one of each",
			c.Ways, c.Line)
	case c.DDIO < 1 || c.DDIO > c.Ways:
		return nil, fmt.Errorf("hostmodel: DDIO of %d ways in a cache of %d: want 1 to all",
			c.DDIO, c.Ways)
	case c.Size < set || c.Size%set != 0:
		return nil, fmt.Errorf("hostmodel: cache of %v: want a multiple of %v, %d ways "+
			"of %v", c.Size, set, c.Ways, c.Line)
	}
	cache := &Cache{CacheConfig: c, sets: Line(c.Size / set), slots: make([]slot, c.Size/c.Line)}
	for i := range cache.slots {
		cache.slots[i].line = none
	}
	return cache, nil
}

// Lines returns the number of lines of a message of n bytes. Buffers do not share lines.
func (c *Cache) Lines(n units.Bytes) Line { return Line((n + c.Line - 1) / c.Line) }

// Direct returns the size of the ways in which the NIC allocates.
func (c *Cache) Direct() units.Bytes { return c.Size / units.Bytes(c.Ways) * units.Bytes(c.DDIO) }

// Traffic returns the number of lines exchanged with memory.
func (s *CacheStats) Traffic() uint64 { return s.Fetched + s.WrittenBack }

// Holds reports whether a line is in the cache.
func (c *Cache) Holds(l Line) bool { return find(c.set(l), l) != nil }

// Write records a write of one line by the NIC.
func (c *Cache) Write(l Line) {
	c.Stats.Writes++
	set := c.set(l)
	s := find(set, l)
	if s == nil {
		c.Stats.Allocated++
		s = leastRecentlyUsed(set[:c.DDIO])
		if c.evict(s) {
			c.Stats.EvictedByNIC++
		}
		s.line = l
	}
	s.useful, s.dirty = true, true
	c.use(s)
}

// Read records a read by the program of one line that the NIC wrote. It reports whether the line
// was cached.
func (c *Cache) Read(l Line) (hit bool) {
	c.Stats.Reads++
	s, hit := c.access(l)
	if !hit {
		c.Stats.Missed++
	}
	s.useful = false
	return hit
}

// Touch records an access by the program to one line that the NIC does not write. It reports
// whether the line was cached.
func (c *Cache) Touch(l Line, write bool) (hit bool) {
	c.Stats.Touches++
	s, hit := c.access(l)
	if !hit {
		c.Stats.Absent++
	}
	s.dirty = s.dirty || write
	return hit
}

// access records an access by the processor.
func (c *Cache) access(l Line) (s *slot, hit bool) {
	set := c.set(l)
	if s = find(set, l); s != nil {
		c.use(s)
		return s, true
	}
	if s = find(set[c.DDIO:], none); s == nil {
		s = leastRecentlyUsed(set)
	}
	if c.evict(s) {
		c.Stats.EvictedByCPU++
	}
	c.Stats.Fetched++
	s.line, s.dirty = l, false
	c.use(s)
	return s, false
}

// set returns the set of a line. A row of consecutive lines, one per set, maps to all sets. The
// first set of a row is a hash of the row's number (a multiple of 2^64/φ), as the pages and slices
// of a real cache also spread rows. Otherwise the first buffers of rings whose size is a power of
// two would all be in the same sets.
func (c *Cache) set(l Line) []slot {
	row := uint64(l/c.sets) * 0x9e3779b97f4a7c15 >> 32
	at := int((l+Line(row))%c.sets) * c.Ways
	return c.slots[at : at+c.Ways]
}

func (c *Cache) use(s *slot) {
	c.clock++
	s.used = c.clock
}

// evict empties a slot and reports whether its line was useful.
func (c *Cache) evict(s *slot) (useful bool) {
	if s.line == none {
		return false
	}
	if s.dirty {
		c.Stats.WrittenBack++
	}
	useful = s.useful
	s.useful = false
	return useful
}

func find(set []slot, l Line) *slot {
	for i := range set {
		if set[i].line == l {
			return &set[i]
		}
	}
	return nil
}

// leastRecentlyUsed returns an empty slot, or the least recently used one.
func leastRecentlyUsed(set []slot) *slot {
	best := &set[0]
	for i := range set {
		if set[i].used < best.used {
			best = &set[i]
		}
	}
	return best
}
