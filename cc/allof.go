package cc

import (
	"errors"

	"github.com/goroce/goroce/units"
)

// allOf combines several gates of one flow.
type allOf struct{ parts []Gate }

// AllOf returns a Gate that admits what all of the gates admit; nil if there are none. Nil gates
// are ignored. At most one gate may name the grant of a packet (MarkGrant), and at most one its
// class.
func AllOf(gates ...Gate) Gate {
	var parts []Gate
	for _, g := range gates {
		parts = append(parts, Parts(g)...)
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &allOf{parts}
}

// Parts returns the gates that g combines: g itself if it is a single gate, none for nil.
func Parts(g Gate) []Gate {
	switch all, several := g.(*allOf); {
	case several:
		return all.parts
	case g == nil:
		return nil
	}
	return []Gate{g}
}

// Posted implements Gate.
func (a *allOf) Posted(bytes units.Bytes, b Backlog, now units.Time) {
	for _, g := range a.parts {
		g.Posted(bytes, b, now)
	}
}

// Ready implements Gate.
func (a *allOf) Ready(p *Outgoing, now units.Time) bool {
	for _, g := range a.parts {
		if !g.Ready(p, now) {
			return false
		}
	}
	return true
}

// Sent implements Gate.
func (a *allOf) Sent(p *Outgoing, now units.Time) (all Marks) {
	for _, g := range a.parts {
		m := g.Sent(p, now)
		all.Set |= m.Set
		if m.Set&MarkGrant != 0 {
			all.Grant = m.Grant
		}
		if m.Classed {
			all.TrafficClass, all.Classed = m.TrafficClass, true
		}
	}
	return all
}

// Lost implements Gate.
func (a *allOf) Lost(bytes units.Bytes, b Backlog, now units.Time) {
	for _, g := range a.parts {
		g.Lost(bytes, b, now)
	}
}

// Receive implements Gate. A CREDIT is for the CreditGates, any other ControlMessage for the
// others.
func (a *allOf) Receive(n *ControlMessage, b Backlog, now units.Time) (err error) {
	for _, g := range a.parts {
		if _, credits := g.(CreditGate); credits == (n.Kind == CREDIT) {
			err = errors.Join(err, g.Receive(n, b, now))
		}
	}
	return err
}

// Emit implements Gate.
func (a *allOf) Emit(b Backlog, now units.Time) (ControlMessage, bool) {
	for _, g := range a.parts {
		if next := g.Next(); next != 0 && !next.After(now) {
			if n, some := g.Emit(b, now); some {
				return n, true
			}
		}
	}
	return ControlMessage{}, false
}

// Next implements Gate.
func (a *allOf) Next() (at units.Time) {
	for _, g := range a.parts {
		if next := g.Next(); next != 0 && (at == 0 || next.Before(at)) {
			at = next
		}
	}
	return at
}

// Marks implements Gate.
func (a *allOf) Marks() (all MarkSet) {
	for _, g := range a.parts {
		all |= g.Marks()
	}
	return all
}
