package main

import (
	"github.com/goroce/goroce/units"
)

// greeting is how often a session looks whether its hosts know each other.
const greeting = 50 * units.Microsecond

// greet starts the sides as soon as their hosts know each other's MAC address: whoever connects
// over the network has found the way. In a quiet world some do not wait for that.
func (s *session) greet() {
	w := s.world
	if s.state != sessionOpen {
		return
	}
	if s.plan.quiet() && w.dice.chance(0.5) || s.sides[0].gone || s.sides[1].gone ||
		s.sides[0].knows() && s.sides[1].knows() {
		for _, x := range s.sides {
			x.start()
		}
		return
	}
	for _, x := range s.sides {
		x.wake()
	}
	w.net.At(w.net.Now().Add(greeting), s.greet)
}

// mac answers the MAC address that the side's host has for its peer.
func (x *side) mac() (mac [6]byte, known bool) {
	entry, err := x.node.endpoint.Neighbors().Resolve(x.peer.node.address(x.session.v6),
		x.session.world.net.Now())
	if err != nil {
		x.violated(nil, "%v", err)
		return mac, false
	}
	return entry.MAC()
}

func (x *side) knows() bool {
	_, known := x.mac()
	return known
}

// misled says that the side's host has, or had, a wrong MAC address for its peer: no checksum
// protects ARP from links that change bits.
func (x *side) misled() bool {
	if !x.session.plan.corrupts() || x.session.v6 || x.over() || x.peer.over() {
		return false
	}
	mac, known := x.mac()
	return !known || mac != [6]byte(x.peer.node.host.NIC().Info().MAC) ||
		x.node.endpoint.Neighbors().Counters().MACChanges > 0
}
