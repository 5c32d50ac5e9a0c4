package hostmodel

import "github.com/goroce/goroce/units"

// State is the congestion of a host between its NIC and its processors (CARC, figure 4), by what is
// unconsumed.
type State uint8

// The states.
const (
	S1 State = iota // less than what the ways hold that the NIC writes to: nothing misses
	S2              // less than the cache: misses end when the buffers in use are in it
	S3              // more than the cache: all reads miss
	S4              // and no receive buffer is free
)

func (s State) String() string { return [...]string{"S1", "S2", "S3", "S4"}[s] }

// Unconsumed answers how much the NIC wrote that was not released, in whole lines.
func (h *Host) Unconsumed() units.Bytes { return units.Bytes(h.unconsumed) * h.Cache.Line }

// State answers the congestion. A host with queues that hold less than its cache is in S4 too when
// they are full.
func (h *Host) State() State {
	switch u := h.Unconsumed(); {
	case h.free == 0 && u > 0: // a host without queues has no buffers either
		return S4
	case u < h.Cache.Direct():
		return S1
	case u < h.Cache.Size:
		return S2
	}
	return S3
}
