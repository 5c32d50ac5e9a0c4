package impair

import (
	"math/rand/v2"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Counts counts the frames of one direction.
type Counts struct {
	Frames     uint64 `json:"frames"` // received, of any kind
	RoCE       uint64 `json:"roce"`   // RoCEv2 packets among them
	Sent       uint64 `json:"sent"`
	Lost       uint64 `json:"lost"` // by lose
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	Delayed    uint64 `json:"delayed"`
	QueueFull  uint64 `json:"queue_full"` // dropped by rate
	Marked     uint64 `json:"marked"`
	CNPs       uint64 `json:"cnps"`      // made here
	Pauses     uint64 `json:"pauses"`    // made here, to the other side
	SentCNPs   uint64 `json:"sent_cnps"` // made by the sender
	BECNs      uint64 `json:"becns"`     // its other packets with BECN
	NoRoom     uint64 `json:"no_room"`   // more was held than fits
	PortFull   uint64 `json:"port_full"` // times that the port accepted no more, and frames waited
}

// direction is the frames that arrive at one port.
type direction struct {
	rules  []*ruleState
	counts Counts
	held   held
	begun  bool
	since  units.Time // of the first RoCEv2 packet
	marked bool       // since the last CNP of the other direction
	other  *direction
	packet wire.Packet
}

func newDirection(r *Rules, from string, number uint64) *direction {
	d := &direction{}
	for i := range r.Rules {
		if rule := &r.Rules[i]; rule.From == from || rule.From == "both" {
			d.rules = append(d.rules, &ruleState{Rule: rule,
				random: rand.New(rand.NewPCG(r.Seed, uint64(i)<<1|number))})
		}
	}
	return d
}

// pass decides about a frame that arrived, and holds what leaves.
func (d *direction) pass(data []byte, now units.Time) {
	d.counts.Frames++
	p := &d.packet
	if p.Parse(data) != nil {
		d.hold(data, now, 0)
		return
	}
	d.counts.RoCE++
	if p.Op == wire.CNP {
		d.counts.SentCNPs++
	} else if p.BTH().Congestion&wire.BTHBECN != 0 {
		d.counts.BECNs++
	}
	if !d.begun {
		d.begun, d.since = true, now
	}
	leaves, copies, behind, alive := now, 1, 0, true
	for _, s := range d.rules {
		if alive && s.applies(p, now.Sub(d.since)) {
			alive = d.apply(s, &leaves, &copies, &behind, now)
		}
	}
	if !alive {
		return
	}
	for range copies {
		d.hold(data, leaves, behind)
	}
	if behind == 0 && leaves == now {
		d.held.overtake(now)
	}
}

// apply applies a rule to the packet. It reports whether the packet goes on.
func (d *direction) apply(s *ruleState, leaves *units.Time, copies, behind *int,
	now units.Time) bool {
	s.applied++
	p, c := &d.packet, &d.counts
	switch s.action {
	case lose:
		c.Lost++
		return false
	case duplicate:
		c.Duplicated += uint64(s.Duplicate)
		*copies += s.Duplicate
	case reorder:
		c.Reordered++
		*behind, *leaves = s.Reorder, leaves.Add(patience)
	case corrupt:
		c.Corrupted++
		s.flip(p)
	case delay:
		c.Delayed++
		extra := units.Duration(s.Delay)
		if s.Jitter > 0 {
			extra += units.Duration(s.random.Int64N(int64(s.Jitter)))
		}
		*leaves = leaves.Add(extra)
	case limitRate:
		at, ok := s.departure(*leaves, units.Bytes(len(p.Frame)))
		if !ok {
			c.QueueFull++
			return false
		}
		*leaves = at
	case mark:
		if setCE(p) {
			c.Marked++
			d.marked = true
		} else {
			s.applied-- // not ECN-capable
		}
	case notify:
		d.notify(s, *leaves)
	case pause:
		c.Pauses++
		d.other.hold(pauseFrame(p.Ethernet().Dst, s.Priority, s.Pause), now, 0)
	}
	return true
}

// notify holds a CNP beside the packet.
func (d *direction) notify(s *ruleState, at units.Time) {
	if s.AfterMark && !d.other.marked {
		s.applied--
		return
	}
	frame, err := cnpBeside(&d.packet)
	if err != nil { // an address that no template takes
		s.applied--
		return
	}
	d.other.marked = false
	d.counts.CNPs++
	d.hold(frame, at, 0)
}

// hold holds a frame until it leaves.
func (d *direction) hold(data []byte, at units.Time, behind int) {
	if !d.held.add(data, at, behind) {
		d.counts.NoRoom++
	}
}
