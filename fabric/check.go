package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Ledger is what became of the frames of a network.
type Ledger struct {
	Sent, Doubled, Reported    uint64 // by pollers, by faults, by switches
	Received, Dropped, Onwards uint64 // by pollers, on the way, and still on their way
}

// Missing answers how many frames are gone without a trace, or too many when it is negative.
func (l Ledger) Missing() int64 {
	return int64(l.Sent + l.Doubled + l.Reported - l.Received - l.Dropped - l.Onwards)
}

// Ledger counts the frames.
func (n *Network) Ledger() Ledger {
	l := Ledger{Sent: n.injected, Doubled: n.copied, Reported: n.reports, Received: n.delivered,
		Dropped: n.dropped}
	for _, f := range n.frames {
		if f.state == frameMoving && !f.pause {
			l.Onwards++
		}
	}
	return l
}

// Check compares the books of the network with what is in it: every frame sent was received,
// dropped, or is somewhere; every buffer's account is the sum of the frames in it.
func (n *Network) Check() error {
	if l := n.Ledger(); l.Missing() != 0 {
		return fmt.Errorf("fabric: at %v: %d frames are missing: %+v", n.now, l.Missing(), l)
	}
	for _, s := range n.switches {
		if err := s.check(); err != nil {
			return fmt.Errorf("fabric: at %v: %w", n.now, err)
		}
	}
	return nil
}

// check adds up the queues of a switch, by where their frames came from.
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
				return fmt.Errorf("%v: port %d queue %d holds %d frames of %d bytes, its books "+
					"say %d of %d", s, p.index, i, count, int64(sum), q.count, int64(q.bytes))
			}
			stored += sum
		}
	}
	accounted, used := units.Bytes(0), units.Bytes(0)
	for _, p := range s.ports {
		for i := range p.groups {
			g := &p.groups[i]
			if g.held < 0 || g.headroom < 0 {
				return fmt.Errorf("%v: port %d priority %d: negative account %+v", s, p.index, i,
					*g)
			}
			accounted += g.held + g.headroom
			used += shares(g.held, p.queues[i].config.Reserve)
		}
	}
	if stored != s.stored || accounted != s.stored || used != s.used {
		return fmt.Errorf("%v: %d bytes are in the queues, %d in the accounts of the ports (%d "+
			"shared), the buffer's books say %d (%d shared)",
			s, int64(stored), int64(accounted), int64(used), int64(s.stored), int64(s.used))
	}
	return nil
}
