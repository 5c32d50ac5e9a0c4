package main

import (
	"bytes"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// idleByte is the value of every byte that no message uses.
const idleByte = 0xa5

// guard is the number of unregistered bytes before and behind a region.
const guard = 64

var idlePattern = bytes.Repeat([]byte{idleByte}, 1<<16)

// arena is the memory of one region with its guard bytes.
type arena struct {
	name string
	mem  []byte // including the guard bytes
	used int
	mr   *transport.MemoryRegion
}

// newArena returns idle memory for a region of size bytes.
func newArena(name string, size int) *arena {
	a := &arena{name: name, mem: make([]byte, size+2*guard)}
	fillIdle(a.mem)
	return a
}

// region returns the part that is registered.
func (a *arena) region() []byte { return a.mem[guard : len(a.mem)-guard] }

// alloc allocates n bytes of the region, gap bytes behind the previous allocation.
func (a *arena) alloc(n, gap int) extent {
	e := extent{a, a.used + gap, n}
	if a.used += gap + n; a.used > len(a.region()) {
		panic(fmt.Sprintf("soak: arena %s of %d bytes is too small", a.name, len(a.region())))
	}
	return e
}

// firstWritten returns the offset in the region of the first byte that is not idle.
func (a *arena) firstWritten() (at int, yes bool) {
	if isIdle(a.mem) {
		return 0, false
	}
	for a.mem[at] == idleByte {
		at++
	}
	return at - guard, true
}

// isIdle reports whether all bytes of b are idle.
func isIdle(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(idlePattern))
		if !bytes.Equal(b[:n], idlePattern[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

func fillIdle(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, idlePattern):]
	}
}

// extent is a part of an arena.
type extent struct {
	in  *arena
	off int
	n   int
}

func (e extent) bytes() []byte { return e.in.region()[e.off : e.off+e.n] }

func (e extent) sge() transport.SGE { return e.in.mr.SGE(e.off, e.n) }

// pieces is the memory that a message is gathered from or scattered to, in order.
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
		fillIdle(e.bytes())
	}
}

func (ps pieces) fill(p payload) {
	offset := 0
	for _, e := range ps {
		p.fill(e.bytes(), offset)
		offset += e.n
	}
}

// verify returns an error unless the pieces hold the first n bytes of a message followed by idle
// bytes.
func (ps pieces) verify(p payload, n int) error {
	offset := 0
	for _, e := range ps {
		b := e.bytes()
		here := min(len(b), n-offset)
		if at := p.mismatch(b[:here], offset); at >= 0 {
			return fmt.Errorf("byte %d of %d is %#02x, want %#02x (%s+%d)", offset+at, n, b[at],
				p.at(offset+at), e.in.name, e.off+at)
		}
		for at := here; at < len(b); at++ {
			if b[at] != idleByte {
				return fmt.Errorf("byte %d behind the %d of the message was written: %#02x (%s+%d)",
					offset+at, n, b[at], e.in.name, e.off+at)
			}
		}
		offset += here
	}
	return nil
}

// verifyPart returns an error if a byte is neither the message's nor idle. An aborted message may
// leave any part of its content behind.
func (ps pieces) verifyPart(p payload) error {
	offset := 0
	for _, e := range ps {
		for at, v := range e.bytes() {
			if v != idleByte && v != p.at(offset+at) {
				return fmt.Errorf("byte %d is %#02x, want %#02x or idle (%s+%d)", offset+at,
					v, p.at(offset+at), e.in.name, e.off+at)
			}
		}
		offset += e.n
	}
	return nil
}
