package transport

import (
	"bytes"

	"github.com/stretchr/testify/require"
)

// regionKind is what a region of a program of verbs may contain.
type regionKind uint8

const (
	// sourceRegion is never written, because no access allows it. So data sent from it is known.
	sourceRegion regionKind = iota
	// inboxRegion only takes receives and READ responses, each in a place of its own. Everything
	// outside these places is inboxRest.
	inboxRegion
	// openRegion may be written by anyone.
	openRegion
)

const (
	margin     = 64 // bytes on either side of a region that must not be written
	marginByte = 0xc5
	inboxRest  = 0xee
)

// verbsRegion is a memory region with its surroundings.
type verbsRegion struct {
	*MemoryRegion
	host      *verbsHost
	domain    *verbsPD
	kind      regionKind
	arena     []byte
	mem       []byte
	destroyed bool
	last      []byte // its contents when it ended
	next      int    // inbox: where the next area begins
	placed    int    // areas in use
}

func (h *verbsHost) newRegion(
	pd *verbsPD, kind regionKind, n int, access Access,
) (*verbsRegion, error) {
	r := &verbsRegion{host: h, domain: pd, kind: kind}
	r.arena = bytes.Repeat([]byte{marginByte}, n+2*margin)
	r.mem = r.arena[margin : margin+n : margin+n]
	switch kind {
	case sourceRegion:
		fill(r.mem, byte(h.nextID))
	case inboxRegion:
		clearInbox(r.mem)
	}
	var err error
	r.MemoryRegion, err = h.ep.RegisterMemory(pd.ProtectionDomain, r.mem, access)
	if kind == sourceRegion {
		r.last = bytes.Clone(r.mem)
	}
	return r, err
}

// clearInbox frees memory of an inbox.
func clearInbox(mem []byte) {
	for i := range mem {
		mem[i] = inboxRest
	}
}

func isClear(mem []byte) bool {
	for _, b := range mem {
		if b != inboxRest {
			return false
		}
	}
	return true
}

// ended records that the region must not be written from now on.
func (r *verbsRegion) ended() {
	if r.last == nil {
		r.last = bytes.Clone(r.mem)
	}
	r.destroyed = true
}

// check compares a region with what it may contain.
func (r *verbsRegion) check() {
	t := r.host.t
	for i, b := range r.arena[:margin] {
		require.EqualValues(t, marginByte, b, "%d bytes before a region of %d were written",
			margin-i,
			len(r.mem))
	}
	for i, b := range r.arena[margin+len(r.mem):] {
		require.EqualValues(t, marginByte, b, "%d bytes behind a region of %d were written", i,
			len(r.mem))
	}
	switch {
	case r.last != nil:
		require.True(t, bytes.Equal(r.last, r.mem),
			"a region of kind %d was written without a right: gone %v, access %#x, %d bytes",
			r.kind,
			r.destroyed, r.access, len(r.mem))
	case r.kind == inboxRegion && r.placed == 0:
		require.True(t, isClear(r.mem), "an inbox was written outside its areas")
	}
}

// area is a place in an inbox: a list of pieces, with a byte between two of them that is not part
// of it.
type area struct {
	region *verbsRegion
	from   int
	to     int
	pieces [][]byte
}

// reserve reserves n bytes of an inbox in the given number of pieces, or returns nil without room.
func (r *verbsRegion) reserve(n, pieces int) (*area, []SGE) {
	if r.placed == 0 {
		r.next = 0
	}
	if r.next+n+pieces > len(r.mem) {
		return nil, nil
	}
	a, list := &area{region: r, from: r.next}, []SGE(nil)
	for i := range pieces {
		size := n / pieces
		if i == pieces-1 {
			size = n - size*i
		}
		list = append(list, r.SGE(r.next, size))
		a.pieces = append(a.pieces, r.mem[r.next:r.next+size])
		r.next += size + 1
	}
	a.to = r.next
	r.placed++
	return a, list
}

// holds reports whether the area contains data, followed by nothing.
func (a *area) holds(data []byte) bool {
	for _, p := range a.pieces {
		n := min(len(p), len(data))
		if !bytes.Equal(p[:n], data[:n]) || !isClear(p[n:]) {
			return false
		}
		data = data[n:]
	}
	return len(data) == 0
}

// release gives the area back. Bytes between its pieces must be as they were.
func (a *area) release() {
	at := a.from
	for _, p := range a.pieces {
		at += len(p)
		require.EqualValues(a.region.host.t, inboxRest, a.region.mem[at],
			"a byte behind a piece of a list was written")
		at++
	}
	if !a.region.destroyed {
		clearInbox(a.region.mem[a.from:a.to])
	}
	a.region.placed--
}
