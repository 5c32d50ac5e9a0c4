package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Line is an address in memory, in cache lines.
type Line int64

// CacheConfig says what a last-level cache is like.
type CacheConfig struct {
	Size units.Bytes
	Line units.Bytes // 0 means 64
	Ways int
	DDIO int // of them a NIC allocates in; Intel's default is 2
}

// Xeon4309Y is the cache of CARC's testbed: 12 MiB, by public data in 12 ways.
var Xeon4309Y = CacheConfig{Size: 12 * units.MiB, Ways: 12, DDIO: 2}

// Cache is a set-associative cache with replacement of the least recently used line. A line that a
// NIC writes is changed in place when it is there, else it goes into one of the first DDIO ways;
// one that a processor misses goes into an empty way, the others first, or replaces the least
// recently used of all.
type Cache struct {
	CacheConfig
	Stats CacheStats

	sets  Line
	slots []slot // Ways for each set
	clock uint64 // counts uses
}

// CacheStats counts lines.
type CacheStats struct {
	Writes, Allocated uint64 // by the NIC; of them not there before
	Reads, Missed     uint64 // by the program, of what the NIC wrote
	Touches, Absent   uint64 // by the program, of anything else; of them not there
	// Useful lines, written by the NIC and not yet read, that were thrown out by its writes and by
	// the processor's misses.
	EvictedByNIC, EvictedByCPU uint64
	Fetched, WrittenBack       uint64 // from and to memory
}

// MissShare is the part of reads that missed; 0 without reads.
func (s CacheStats) MissShare() float64 {
	if s.Reads == 0 {
		return 0
	}
	return float64(s.Missed) / float64(s.Reads)
}

// Since answers what was counted after before.
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
	useful bool // the NIC wrote it and nobody read it
	dirty  bool // memory does not have it
}

const none Line = -1

// NewCache makes an empty cache.
func NewCache(c CacheConfig) (*Cache, error) {
	if c.Line == 0 {
		c.Line = 64
	}
	set := c.Line * units.Bytes(c.Ways)
	switch {
	case c.Ways < 1 || c.Line < 1:
		return nil, fmt.Errorf("hostmodel: a cache of %d ways of %v: it needs one at least", c.Ways,
			c.Line)
	case c.DDIO < 1 || c.DDIO > c.Ways:
		return nil, fmt.Errorf("hostmodel: %d ways for a NIC in a cache of %d: want 1 to all",
			c.DDIO, c.Ways)
	case c.Size < set || c.Size%set != 0:
		return nil, fmt.Errorf("hostmodel: a cache of %v: want a multiple of %v, which %d ways "+
			"of %v are", c.Size, set, c.Ways, c.Line)
	}
	cache := &Cache{CacheConfig: c, sets: Line(c.Size / set), slots: make([]slot, c.Size/c.Line)}
	for i := range cache.slots {
		cache.slots[i].line = none
	}
	return cache, nil
}

// Lines answers how many lines a message takes: buffers do not share any.
func (c *Cache) Lines(n units.Bytes) Line { return Line((n + c.Line - 1) / c.Line) }

// Direct is the size of the ways that the NIC allocates in.
func (c *Cache) Direct() units.Bytes { return c.Size / units.Bytes(c.Ways) * units.Bytes(c.DDIO) }

// Traffic answers how many lines went to and came from memory so far.
func (s *CacheStats) Traffic() uint64 { return s.Fetched + s.WrittenBack }

// Holds says whether a line is in the cache.
func (c *Cache) Holds(l Line) bool { return find(c.set(l), l) != nil }

// Write is the NIC's, of one line.
func (c *Cache) Write(l Line) {
	c.Stats.Writes++
	set := c.set(l)
	s := find(set, l)
	if s == nil {
		c.Stats.Allocated++
		s = oldest(set[:c.DDIO])
		if c.evict(s) {
			c.Stats.EvictedByNIC++
		}
		s.line = l
	}
	s.useful, s.dirty = true, true
	c.use(s)
}

// Read is the program's, of one line that the NIC wrote. It says whether that was there.
func (c *Cache) Read(l Line) (hit bool) {
	c.Stats.Reads++
	s, hit := c.access(l)
	if !hit {
		c.Stats.Missed++
	}
	s.useful = false
	return hit
}

// Touch is the program's use of one line of memory that is not the NIC's. It says whether that was
// there.
func (c *Cache) Touch(l Line, write bool) (hit bool) {
	c.Stats.Touches++
	s, hit := c.access(l)
	if !hit {
		c.Stats.Absent++
	}
	s.dirty = s.dirty || write
	return hit
}

// access is the processor's.
func (c *Cache) access(l Line) (s *slot, hit bool) {
	set := c.set(l)
	if s = find(set, l); s != nil {
		c.use(s)
		return s, true
	}
	if s = find(set[c.DDIO:], none); s == nil {
		s = oldest(set)
	}
	if c.evict(s) {
		c.Stats.EvictedByCPU++
	}
	c.Stats.Fetched++
	s.line, s.dirty = l, false
	c.use(s)
	return s, false
}

// set answers where a line may be. As many lines in a row as there are sets are one in each; where
// they begin differs from one such row to the next, by a multiple of 2^64/φ, since neither pages
// nor slices of a real cache keep the rows in line: with rows in line, rings of a power of two
// would have their first buffers all in the same sets.
func (c *Cache) set(l Line) []slot {
	row := uint64(l/c.sets) * 0x9e3779b97f4a7c15 >> 32
	at := int((l+Line(row))%c.sets) * c.Ways
	return c.slots[at : at+c.Ways]
}

func (c *Cache) use(s *slot) {
	c.clock++
	s.used = c.clock
}

// evict empties a slot, and says whether what was there was useful.
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

// oldest is an empty slot, or the least recently used.
func oldest(set []slot) *slot {
	best := &set[0]
	for i := range set {
		if set[i].used < best.used {
			best = &set[i]
		}
	}
	return best
}
