package workload

import "github.com/goroce/goroce/units"

// Merge returns a Reactive with the flows of all sources in order of time, and those of the same
// time in the order of the sources. Done is passed to the source of the flow if that is Reactive.
// Merge of a single Source adds Peek to it.
//
// IDs and Groups stay unique: for the i-th of n sources, from 0, they become n*ID+i and n*Group+i.
// A Group of -1 is unchanged.
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

// first returns the index of the part with the earliest flow and its time, or -1 if there is no
// flow.
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

// ahead is a Reactive over a Source, with the next flow buffered for Peek.
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
