package main

import (
	"bytes"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// rest is what memory holds that nobody uses.
const rest = 0xa5

// apron is memory before and behind a region, which no key names.
const apron = 64

var resting = bytes.Repeat([]byte{rest}, 1<<16)

// arena is the memory of one region, and what lies around it.
type arena struct {
	name string
	mem  []byte // with the aprons
	used int
	mr   *transport.MemoryRegion
}

// newArena makes memory for a region of size bytes.
func newArena(name string, size int) *arena {
	a := &arena{name: name, mem: make([]byte, size+2*apron)}
	restore(a.mem)
	return a
}

// region is the part that is registered.
func (a *arena) region() []byte { return a.mem[apron : len(a.mem)-apron] }

// take cuts n bytes out of the region, gap bytes behind what was cut before.
func (a *arena) take(n, gap int) extent {
	e := extent{a, a.used + gap, n}
	if a.used += gap + n; a.used > len(a.region()) {
		panic(fmt.Sprintf("soak: arena %s of %d bytes is too small", a.name, len(a.region())))
	}
	return e
}

// disturbed answers the first byte that does not rest, counted from the region's beginning.
func (a *arena) disturbed() (at int, yes bool) {
	if atRest(a.mem) {
		return 0, false
	}
	for a.mem[at] == rest {
		at++
	}
	return at - apron, true
}

// atRest says whether nobody has written to b since it was restored.
func atRest(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(resting))
		if !bytes.Equal(b[:n], resting[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

func restore(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, resting):]
	}
}

// extent is a piece of an arena.
type extent struct {
	in  *arena
	off int
	n   int
}

func (e extent) bytes() []byte { return e.in.region()[e.off : e.off+e.n] }

func (e extent) sge() transport.SGE { return e.in.mr.SGE(e.off, e.n) }

// pieces is memory that a message is gathered from or scattered to, in order.
type pieces []extent

func (ps pieces) sges() []transport.SGE {
	list := make([]transport.SGE, len(ps))
	for i, e := range ps {
		list[i] = e.sge()
	}
	return list
}

func (ps pieces) restore() {
	for _, e := range ps {
		restore(e.bytes())
	}
}

func (ps pieces) fill(p payload) {
	offset := 0
	for _, e := range ps {
		p.fill(e.bytes(), offset)
		offset += e.n
	}
}

// verify says what is wrong when the pieces do not hold the first n bytes of a message, and rest
// behind them.
func (ps pieces) verify(p payload, n int) error {
	offset := 0
	for _, e := range ps {
		b := e.bytes()
		here := min(len(b), n-offset)
		if at := p.differs(b[:here], offset); at >= 0 {
			return fmt.Errorf("byte %d of %d is %#02x, not %#02x (%s+%d)", offset+at, n, b[at],
				p.at(offset+at), e.in.name, e.off+at)
		}
		for at := here; at < len(b); at++ {
			if b[at] != rest {
				return fmt.Errorf("byte %d behind the %d of the message was written: %#02x (%s+%d)",
					offset+at, n, b[at], e.in.name, e.off+at)
			}
		}
		offset += here
	}
	return nil
}

// verifyPart says what is wrong when a byte is neither the message's nor at rest: what a message
// that was given up may leave behind.
func (ps pieces) verifyPart(p payload) error {
	offset := 0
	for _, e := range ps {
		for at, v := range e.bytes() {
			if v != rest && v != p.at(offset+at) {
				return fmt.Errorf("byte %d is %#02x, neither %#02x nor at rest (%s+%d)", offset+at,
					v, p.at(offset+at), e.in.name, e.off+at)
			}
		}
		offset += e.n
	}
	return nil
}
