package cc

import "github.com/goroce/goroce/units"

// AllOf is a Gate that opens when all of these do. Each hears the Notices of its kinds, and of those that are due the first
// one's goes first. Their marks are put together; a grant, and a traffic class, is the last one's that has it.
func AllOf(gates ...Gate) Gate {
	if len(gates) == 1 {
		return gates[0]
	}
	return allOf(gates)
}

type allOf []Gate

func (all allOf) Posted(bytes units.Bytes, b Backlog, now units.Time) {
	for _, g := range all {
		g.Posted(bytes, b, now)
	}
}

func (all allOf) Ready(p *Outgoing, now units.Time) bool {
	for _, g := range all {
		if !g.Ready(p, now) {
			return false
		}
	}
	return true
}

func (all allOf) Took(p *Outgoing, now units.Time) (m Marks) {
	for _, g := range all {
		own := g.Took(p, now)
		m.Set |= own.Set
		if own.Set&MarkGrant != 0 {
			m.Grant = own.Grant
		}
		if own.Classed {
			m.Classed, m.TrafficClass = true, own.TrafficClass
		}
	}
	return m
}

func (all allOf) Lost(bytes units.Bytes, b Backlog, now units.Time) {
	for _, g := range all {
		g.Lost(bytes, b, now)
	}
}

func (all allOf) Hear(n *Notice, b Backlog, now units.Time) error {
	for _, g := range all {
		if err := g.Hear(n, b, now); err != ErrOtherKind {
			return err
		}
	}
	return ErrOtherKind
}

func (all allOf) Emit(b Backlog, now units.Time) (Notice, bool) {
	for _, g := range all {
		if !due(g.Next(), now) {
			continue
		}
		if n, some := g.Emit(b, now); some {
			return n, true
		}
	}
	return Notice{}, false
}

func (all allOf) Next() (next units.Time) {
	for _, g := range all {
		next = sooner(next, g.Next())
	}
	return next
}

func (all allOf) Wants() (set MarkSet) {
	for _, g := range all {
		set |= g.Wants()
	}
	return set
}

// Answered implements Debtor for those that are.
func (all allOf) Answered(a *Answer, now units.Time) error {
	for _, g := range all {
		if d, is := g.(Debtor); is {
			if err := d.Answered(a, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// AllOfGranters is the Granter for an AllOf: of these. One of them at most has an Algorithm, gives TOKENs, and
// gives credits; it may be the same.
func AllOfGranters(granters ...Granter) Granter {
	if len(granters) == 1 {
		return granters[0]
	}
	return allGranters(granters)
}

type allGranters []Granter

func (all allGranters) Arrived(a *Arrival, now units.Time) {
	for _, g := range all {
		g.Arrived(a, now)
	}
}

func (all allGranters) Missing(packets int, bytes units.Bytes, now units.Time) {
	for _, g := range all {
		g.Missing(packets, bytes, now)
	}
}

func (all allGranters) Consumed(bytes units.Bytes, now units.Time) {
	for _, g := range all {
		g.Consumed(bytes, now)
	}
}

func (all allGranters) Hear(n *Notice, now units.Time) error {
	for _, g := range all {
		if err := g.Hear(n, now); err != ErrOtherKind {
			return err
		}
	}
	return ErrOtherKind
}

func (all allGranters) Emit(incomplete bool, now units.Time) (Notice, bool) {
	for _, g := range all {
		if !due(g.Next(), now) {
			continue
		}
		if n, some := g.Emit(incomplete, now); some {
			return n, true
		}
	}
	return Notice{}, false
}

func (all allGranters) Next() (next units.Time) {
	for _, g := range all {
		next = sooner(next, g.Next())
	}
	return next
}

func (all allGranters) Rank() (rank int) {
	for _, g := range all {
		rank = max(rank, g.Rank())
	}
	return rank
}

func (all allGranters) Queue() (room int) {
	for _, g := range all {
		room = max(room, g.Queue())
	}
	return room
}

func (all allGranters) Algorithm() Algorithm {
	for _, g := range all {
		if a := g.Algorithm(); a != nil {
			return a
		}
	}
	return nil
}

func (all allGranters) Attach(r Reporter) {
	for _, g := range all {
		g.Attach(r)
	}
}

func (all allGranters) Decide(d Decision, now units.Time) {
	for _, g := range all {
		g.Decide(d, now)
	}
}

// Delivered implements Crediter for those that are.
func (all allGranters) Delivered(bytes units.Bytes, now units.Time) {
	for _, g := range all {
		if c, is := g.(Crediter); is {
			c.Delivered(bytes, now)
		}
	}
}

// Credit implements Crediter for those that are.
func (all allGranters) Credit(now units.Time) (Notice, bool) {
	for _, g := range all {
		if c, is := g.(Crediter); is {
			if n, some := c.Credit(now); some {
				return n, true
			}
		}
	}
	return Notice{}, false
}

// CreditAt implements Crediter for those that are.
func (all allGranters) CreditAt() (at units.Time) {
	for _, g := range all {
		if c, is := g.(Crediter); is {
			at = sooner(at, c.CreditAt())
		}
	}
	return at
}

// due says whether a moment, of which 0 is never, has come.
func due(at, now units.Time) bool { return at != 0 && !at.After(now) }

// sooner answers the earlier of two moments, of which 0 is never.
func sooner(a, b units.Time) units.Time {
	if a == 0 || b != 0 && b.Before(a) {
		return b
	}
	return a
}
