package workload

import (
	"fmt"
	"math/rand/v2"
)

// Peers says whether src may send to dst, which is never src; the same for every call. A nil Peers
// lets everyone send to everyone.
type Peers func(src, dst int) bool

// SameRack is the Peers of racks with so many hosts each, the hosts of a rack one after another.
func SameRack(hosts int) Peers {
	hosts = max(hosts, 1)
	return func(src, dst int) bool { return src/hosts == dst/hosts }
}

// OtherRacks is the opposite of SameRack.
func OtherRacks(hosts int) Peers {
	same := SameRack(hosts)
	return func(src, dst int) bool { return !same(src, dst) }
}

// check says which of the hosts has nobody to send to.
func (p Peers) check(hosts int) error {
	if hosts < 2 {
		return fmt.Errorf("%d hosts, fewer than 2", hosts)
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

// draw picks one of src's peers, of which there is at least one.
func (p Peers) draw(rng *rand.Rand, hosts, src int) int {
	for {
		if dst := rng.IntN(hosts); p.has(src, dst) {
			return dst
		}
	}
}
