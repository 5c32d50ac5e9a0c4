package neigh

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/units"
)

// idle is the entries that nobody holds, the least recently used first. Any of them may be evicted.
type idle struct{ first, last *Entry }

func (l *idle) push(e *Entry) {
	e.list, e.before, e.after = l, l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.after = e
	}
	l.last = e
}

func (l *idle) remove(e *Entry) {
	if e.before == nil {
		l.first = e.after
	} else {
		e.before.after = e.after
	}
	if e.after == nil {
		l.last = e.before
	} else {
		e.after.before = e.before
	}
	e.list, e.before, e.after = nil, nil, nil
}

// source is where unconfirmed entries come from: who can send from one address of it can from
// others, too.
func source(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip.Is4() {
		bits = 24
	}
	p, _ := ip.Prefix(bits) // fails only for too many bits
	return p
}

// Hold is Resolve for who keeps the entry: until Release it is not evicted.
func (t *Table) Hold(dst netip.Addr, now units.Time) (*Entry, error) {
	e, err := t.resolve(dst, now)
	if err != nil {
		return nil, err
	}
	t.unlist(e)
	e.holders++
	return e, nil
}

// Release ends a Hold.
func (t *Table) Release(e *Entry) {
	if e.holders--; e.holders == 0 {
		t.used(e)
	}
}

// used makes an entry the most recently used one, and evicts others where there are too many that
// no answer has confirmed.
func (t *Table) used(e *Entry) {
	if e.holders > 0 || e.state == own || e.evicted {
		return
	}
	list := &t.unconfirmed
	if e.confirmed {
		list = &t.confirmed
	}
	if e.list == list {
		list.remove(e)
		list.push(e)
		return
	}
	t.unlist(e)
	list.push(e)
	if e.confirmed {
		return
	}
	from := source(e.ip)
	t.doubts++
	t.doubtsOf[from]++
	if t.doubtsOf[from] > MaxUnconfirmedPerPrefix {
		t.evict(t.unconfirmed.firstOf(from))
	} else if t.doubts > MaxUnconfirmed {
		t.evict(t.unconfirmed.first)
	}
}

func (l *idle) firstOf(p netip.Prefix) *Entry {
	e := l.first
	for !p.Contains(e.ip) { // there is one
		e = e.after
	}
	return e
}

// unlist takes an entry out of its list, if it is in one.
func (t *Table) unlist(e *Entry) {
	if e.list == &t.unconfirmed {
		from := source(e.ip)
		t.doubts--
		if t.doubtsOf[from]--; t.doubtsOf[from] == 0 {
			delete(t.doubtsOf, from)
		}
	}
	if e.list != nil {
		e.list.remove(e)
	}
}

// room makes room for one entry more: one that no answer has confirmed goes before one that was.
func (t *Table) room() error {
	if len(t.entries)-len(t.addrs) < MaxEntries {
		return nil
	}
	for _, l := range []*idle{&t.unconfirmed, &t.confirmed} {
		if l.first != nil {
			t.evict(l.first)
			return nil
		}
	}
	return fmt.Errorf("%d neighbours in use: %w", MaxEntries, ErrFull)
}

// evict forgets an entry that nobody holds.
func (t *Table) evict(e *Entry) {
	t.unlist(e)
	t.timers.remove(e)
	delete(t.entries, e.ip)
	e.evicted = true
	t.counters.Evicted++
}
