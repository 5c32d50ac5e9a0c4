package workload

import "github.com/goroce/goroce/units"

// Merge makes one Reactive of many sources: their flows in order of time, those of the same moment
// in the order of the sources. Done reaches the source that the flow came from, if that is
// Reactive. Merge of one Source is a way to have Peek.
//
// Numbers stay apart: ID and Group of the i-th of n sources, from 0, become n*ID+i and n*Group+i; a
// Group of -1 stays.
func Merge(sources ...Source) Reactive {
	m := &merged{parts: make([]Reactive, len(sources))}
	for i, s := range sources {
		r, ok := s.(Reactive)
		if !ok {
			r = newAhead(s)
		}
		m.parts[i] = r
	}
	return m
}

type merged struct {
	parts []Reactive
}

// first answers which part has the earliest flow, -1 when none has any.
func (m *merged) first() (which int, at units.Time) {
	which = -1
	for i, p := range m.parts {
		if t, ok := p.Peek(); ok && (which < 0 || t.Before(at)) {
			which, at = i, t
		}
	}
	return which, at
}

// Peek implements Reactive.
func (m *merged) Peek() (units.Time, bool) {
	which, at := m.first()
	return at, which >= 0
}

// Next implements Source.
func (m *merged) Next() (Flow, bool) {
	i, _ := m.first()
	if i < 0 {
		return Flow{}, false
	}
	f, _ := m.parts[i].Next()
	n := len(m.parts)
	f.ID = f.ID*uint64(n) + uint64(i)
	if f.Group >= 0 {
		f.Group = f.Group*n + i
	}
	return f, true
}

// Done implements Reactive.
func (m *merged) Done(f Flow, at units.Time) {
	n := len(m.parts)
	if n == 0 {
		return
	}
	i := f.ID % uint64(n)
	f.ID /= uint64(n)
	if f.Group >= 0 {
		f.Group /= n
	}
	m.parts[i].Done(f, at)
}

// Pending implements Reactive.
func (m *merged) Pending() bool {
	for _, p := range m.parts {
		if p.Pending() {
			return true
		}
	}
	return false
}

// ahead is a Source whose next flow is already known.
type ahead struct {
	source Source
	flow   Flow
	ok     bool
}

func newAhead(s Source) *ahead {
	a := &ahead{source: s}
	a.flow, a.ok = s.Next()
	return a
}

func (a *ahead) Peek() (units.Time, bool) { return a.flow.At, a.ok }

func (a *ahead) Next() (Flow, bool) {
	f, ok := a.flow, a.ok
	a.flow, a.ok = a.source.Next()
	return f, ok
}

func (a *ahead) Done(Flow, units.Time) {}

func (a *ahead) Pending() bool { return false }
