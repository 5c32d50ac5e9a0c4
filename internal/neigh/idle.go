package neigh

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/units"
)

// lruList is a list of entries that are not held, the least recently used first. Any of them may be
// evicted.
type lruList struct{ first, last *Entry }

func (l *lruList) push(e *Entry) {
	e.list, e.prev, e.next = l, l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *lruList) remove(e *Entry) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.list, e.prev, e.next = nil, nil, nil
}

// sourcePrefix returns the prefix by which unconfirmed entries are limited: a host that can send
// from one address of it can send from all.
func sourcePrefix(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip.Is4() {
		bits = 24
	}
	p, _ := ip.Prefix(bits) // fails only for too many bits
	return p
}

// Hold is like Resolve, but the entry is not evicted until Release.
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
		t.touch(e)
	}
}

// touch makes an entry the most recently used one, and evicts others if there are too many
// unconfirmed ones.
func (t *Table) touch(e *Entry) {
	if e.holders > 0 || e.state == local || e.evicted {
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
	from := sourcePrefix(e.ip)
	t.numUnconfirmed++
	t.unconfirmedBy[from]++
	if t.unconfirmedBy[from] > MaxUnconfirmedPerPrefix {
		t.evict(t.unconfirmed.firstOf(from))
	} else if t.numUnconfirmed > MaxUnconfirmed {
		t.evict(t.unconfirmed.first)
	}
}

// firstOf returns the first entry in p; there must be one.
func (l *lruList) firstOf(p netip.Prefix) *Entry {
	e := l.first
	for !p.Contains(e.ip) {
		e = e.next
	}
	return e
}

// unlist removes an entry from its list, if it is in one.
func (t *Table) unlist(e *Entry) {
	if e.list == &t.unconfirmed {
		from := sourcePrefix(e.ip)
		t.numUnconfirmed--
		if t.unconfirmedBy[from]--; t.unconfirmedBy[from] == 0 {
			delete(t.unconfirmedBy, from)
		}
	}
	if e.list != nil {
		e.list.remove(e)
	}
}

// makeRoom makes room for an entry. It evicts unconfirmed entries before confirmed ones.
func (t *Table) makeRoom() error {
	if len(t.entries)-len(t.addrs) < MaxEntries {
		return nil
	}
	for _, l := range []*lruList{&t.unconfirmed, &t.confirmed} {
		if l.first != nil {
			t.evict(l.first)
			return nil
		}
	}
	return fmt.Errorf("%d neighbours in use: %w", MaxEntries, ErrFull)
}

// evict removes an entry that is not held.
func (t *Table) evict(e *Entry) {
	t.unlist(e)
	t.timers.remove(e)
	delete(t.entries, e.ip)
	e.evicted = true
	t.counters.Evicted++
}
