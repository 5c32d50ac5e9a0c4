package hostmodel

import "github.com/goroce/goroce/units"

// State is the congestion state of a host between its NIC and its processors (CARC, figure 4),
// determined by the unconsumed data.
type State uint8

// The states.
const (
	S1 State = iota // less than Cache.Direct: no misses
	S2              // less than the cache: misses until the buffers in use are cached
	S3              // at least the cache: all reads miss
	S4              // no free receive buffer
)

func (s State) String() string { return [...]string{"S1", "S2", "S3", "S4"}[s] }

// Unconsumed returns the amount of data written by the NIC and not released, in whole lines.
func (h *Host) Unconsumed() units.Bytes { return units.Bytes(h.unconsumed) * h.Cache.Line }

// State returns the congestion state. Full queues mean S4 even if they hold less than the cache.
func (h *Host) State() State {
	switch u := h.Unconsumed(); {
	case h.free == 0 && u > 0: // without queues free is also 0
		return S4
	case u < h.Cache.Direct():
		return S1
	case u < h.Cache.Size:
		return S2
	}
	return S3
}
