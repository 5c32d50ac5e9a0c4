package cc

import (
	"errors"

	"github.com/goroce/goroce/units"
)

// allOf is several gates of one flow.
type allOf struct{ parts []Gate }

// AllOf answers a Gate that lets go what all of the gates let go; nil for none, and a nil is none.
// At most one of them says by which grant packets leave (MarkGrant), and one which class they have.
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

// Parts answers the gates that g is made of: itself where it is not several, none of nil.
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

// Took implements Gate.
func (a *allOf) Took(p *Outgoing, now units.Time) (all Marks) {
	for _, g := range a.parts {
		m := g.Took(p, now)
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

// Hear implements Gate. A CREDIT is for the CreditGates, any other Notice for the others.
func (a *allOf) Hear(n *Notice, b Backlog, now units.Time) (err error) {
	for _, g := range a.parts {
		if _, credits := g.(CreditGate); credits == (n.Kind == NoticeCredit) {
			err = errors.Join(err, g.Hear(n, b, now))
		}
	}
	return err
}

// Emit implements Gate.
func (a *allOf) Emit(b Backlog, now units.Time) (Notice, bool) {
	for _, g := range a.parts {
		if next := g.Next(); next != 0 && !next.After(now) {
			if n, some := g.Emit(b, now); some {
				return n, true
			}
		}
	}
	return Notice{}, false
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

// Wants implements Gate.
func (a *allOf) Wants() (all MarkSet) {
	for _, g := range a.parts {
		all |= g.Wants()
	}
	return all
}
