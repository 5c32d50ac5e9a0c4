package hostmodel

import "github.com/goroce/goroce/units"

// Walk is memory that a program goes through again and again: a working set, or an antagonist of
// the cache.
type Walk struct {
	cache             *Cache
	first, next, size Line
	write             bool
}

// Walk makes one of n bytes, a line at least, that only reads, or writes too.
func (h *Host) Walk(n units.Bytes, write bool) *Walk {
	size := max(1, h.Cache.Lines(n))
	return &Walk{cache: h.Cache, first: h.Lines(size), size: size, write: write}
}

// Step touches the next line and says whether it was in the cache.
func (w *Walk) Step() (hit bool) {
	hit = w.cache.Touch(w.first+w.next, w.write)
	w.next = (w.next + 1) % w.size
	return hit
}
