package main

import (
	"github.com/goroce/goroce/units"
)

// resolveInterval is the time between checks whether a session's hosts have resolved each other's
// MAC addresses.
const resolveInterval = 50 * units.Microsecond

// startWhenResolved starts both ends as soon as their hosts have resolved each other's MAC
// addresses, as after a connection setup over the network. In a fault-free simulation some sessions
// start without.
func (s *session) startWhenResolved() {
	sim := s.sim
	if s.state != sessionOpen {
		return
	}
	if s.plan.isFaultFree() && sim.rng.chance(0.5) || s.ends[0].destroyed || s.ends[1].destroyed ||
		s.ends[0].hasPeerMAC() && s.ends[1].hasPeerMAC() {
		for _, end := range s.ends {
			end.start()
		}
		return
	}
	for _, end := range s.ends {
		end.wake()
	}
	sim.net.At(sim.net.Now().Add(resolveInterval), s.startWhenResolved)
}

// peerMAC returns the MAC address that the end's host has resolved for its peer.
func (end *peerEnd) peerMAC() (mac [6]byte, known bool) {
	entry, err := end.node.endpoint.Setup().Neighbors().Resolve(
		end.peer.node.address(end.session.v6),
		end.session.sim.net.Now())
	if err != nil {
		end.failf(nil, "%v", err)
		return mac, false
	}
	return entry.MAC()
}

func (end *peerEnd) hasPeerMAC() bool {
	_, known := end.peerMAC()
	return known
}

// hadWrongMAC reports whether the end's host has, or had, a wrong MAC address for its peer: no
// checksum protects ARP from links that flip bits.
func (end *peerEnd) hadWrongMAC() bool {
	if !end.session.plan.mayCorrupt() || end.session.v6 || end.isOver() || end.peer.isOver() {
		return false
	}
	mac, known := end.peerMAC()
	return !known || mac != [6]byte(end.peer.node.host.NIC().Info().MAC) ||
		end.node.endpoint.Setup().Neighbors().Counters().MACChanges > 0
}
