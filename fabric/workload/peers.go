package workload

import (
	"fmt"
	"math/rand/v2"
)

// Peers reports whether src may send to dst, which is not src. It must always return the same for
// the same hosts. A nil Peers permits all pairs.
type Peers func(src, dst int) bool

// SameRack returns the Peers that permit pairs in the same rack, with the given number of
// consecutive hosts per rack.
func SameRack(hosts int) Peers {
	hosts = max(hosts, 1)
	return func(src, dst int) bool { return src/hosts == dst/hosts }
}

// OtherRacks returns the Peers that permit pairs in different racks.
func OtherRacks(hosts int) Peers {
	same := SameRack(hosts)
	return func(src, dst int) bool { return !same(src, dst) }
}

// check returns an error if a host has no peer.
func (p Peers) check(hosts int) error {
	if hosts < 2 {
		return fmt.Errorf("%d hosts, want at least 2", hosts)
	}
	for src := range hosts {
		if !p.any(hosts, src) {
			return fmt.Errorf("host %d of %d has no peer", src, hosts)
		}
	}
	return nil
}

func (p Peers) any(hosts, src int) bool {
	for dst := range hosts {
		if p.has(src, dst) {
			return true
		}
	}
	return false
}

func (p Peers) has(src, dst int) bool { return src != dst && (p == nil || p(src, dst)) }

// draw returns a random peer of src, which must have one.
func (p Peers) draw(rng *rand.Rand, hosts, src int) int {
	for {
		if dst := rng.IntN(hosts); p.has(src, dst) {
			return dst
		}
	}
}
