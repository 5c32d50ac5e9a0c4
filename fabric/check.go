package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Ledger counts the frames of a network by their fate.
type Ledger struct {
	Sent, Duplicated, Reported  uint64 // frames created by pollers, by faults, and by switches
	Received, Dropped, InFlight uint64 // frames received by pollers, dropped, and in flight
}

// Missing returns how many frames are unaccounted for. A negative value is a surplus.
func (l Ledger) Missing() int64 {
	return int64(l.Sent + l.Duplicated + l.Reported - l.Received - l.Dropped - l.InFlight)
}

// Ledger returns the current counts.
func (n *Network) Ledger() Ledger {
	l := Ledger{Sent: n.injected, Duplicated: n.duplicated, Reported: n.reports,
		Received: n.delivered, Dropped: n.dropped}
	for _, f := range n.frames {
		if f.state == frameMoving && !f.pause {
			l.InFlight++
		}
	}
	return l
}

// Check verifies the accounts of the network: every frame sent was received, dropped or is in
// flight, and every buffer's account is the sum of the frames in it.
func (n *Network) Check() error {
	if l := n.Ledger(); l.Missing() != 0 {
		return fmt.Errorf("fabric: at %v: %d frames missing: %+v", n.now, l.Missing(), l)
	}
	for _, s := range n.switches {
		if err := s.check(); err != nil {
			return fmt.Errorf("fabric: at %v: %w", n.now, err)
		}
	}
	return nil
}

// check compares the accounts of a switch with the frames in its queues.
func (s *Switch) check() error {
	stored := units.Bytes(0)
	for _, p := range s.ports {
		for i := range p.queues {
			q, sum, count := &p.queues[i], units.Bytes(0), int32(0)
			for f := q.head; f != nil; f = f.next {
				sum += units.Bytes(f.size)
				count++
			}
			if sum != q.bytes || count != q.count {
				return fmt.Errorf("%v: port %d queue %d holds %d frames of %d bytes, want %d "+
					"of %d as accounted", s, p.index, i, count, int64(sum), q.count, int64(q.bytes))
			}
			stored += sum
		}
	}
	accounted, used := units.Bytes(0), units.Bytes(0)
	for _, p := range s.ports {
		for i := range p.groups {
			g := &p.groups[i]
			if g.held < 0 || g.headroom < 0 {
				return fmt.Errorf("%v: port %d priority %d: negative buffer account %+v", s,
					p.index, i, *g)
			}
			accounted += g.held + g.headroom
			used += sharedPart(g.held, p.queues[i].config.Reserve)
		}
	}
	if stored != s.stored || accounted != s.stored || used != s.used {
		return fmt.Errorf("%v: %d bytes in the queues and %d in the ports' accounts (%d "+
			"shared), want %d (%d shared) as in the buffer's account",
			s, int64(stored), int64(accounted), int64(used), int64(s.stored), int64(s.used))
	}
	return nil
}
