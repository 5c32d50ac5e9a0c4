package tocc

import "github.com/goroce/goroce/sim"

// preambleAndGap precede and follow a frame on a link.
const preambleAndGap = 8 + 12

// linkUse is what queues occupied of the links to all hosts, in bytes on the wire.
type linkUse struct{ Data, Tokens, ACKs float64 }

// useOf returns the use since the start.
func useOf(s *sim.Simulation, hosts int) (u linkUse) {
	for i := range hosts {
		port := s.Net.Host(i).NIC().Ports()[0].Peer()
		of := func(queue int) float64 {
			q := port.QueueStats(queue)
			return float64(q.Bytes) + preambleAndGap*float64(q.Frames)
		}
		u.Data, u.Tokens, u.ACKs = u.Data+of(0), u.Tokens+of(tokens), u.ACKs+of(ackQueue)
	}
	return u
}

// since returns the use since an earlier time as fractions of what the links carry.
func (u linkUse) since(v linkUse, carry float64) linkUse {
	return linkUse{(u.Data - v.Data) / carry, (u.Tokens - v.Tokens) / carry,
		(u.ACKs - v.ACKs) / carry}
}

// idle returns the fraction for which the links are idle.
func (u linkUse) idle() float64 { return 1 - u.Data - u.Tokens - u.ACKs }
