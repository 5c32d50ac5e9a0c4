package trace

import (
	"math"
	"sync/atomic"

	"github.com/goroce/goroce/transport/wire"
)

// DefaultSize is the default number of events in a Ring: 65 ms of a million events per second.
const DefaultSize = 1 << 16

// Log hands out rings. Package sqlog has the one that writes a file.
type Log interface {
	// Ring returns a ring whose events the log takes out, under the name of an endpoint or a
	// network.
	Ring(name string) *Ring
}

// Ring is a bounded queue of events from one goroutine to another. A nil *Ring records nothing:
// recorders test for nil before they prepare an event.
type Ring struct {
	name    string
	sampled uint32 // a PSN is sampled if its hash is not above it
	full    func() // makes room at once; nil: events that find no room are lost
	places  []string
	events  []Event
	mask    uint64

	_    [64]byte // what the recorder writes, and what the reader writes, have a cache line each
	head atomic.Uint64
	lost atomic.Uint64
	room uint64 // head up to which tail is known to leave room
	_    [64]byte
	tail atomic.Uint64
	_    [64]byte
}

// Place is a port of a network in events: its number plus 1.
type Place uint32

// Config configures a Ring.
type Config struct {
	Name string
	// Sample is the share of PSNs whose packets are recorded, of 0 to 1.
	Sample float64
	// Size is the number of events, rounded up to a power of two; 0 means DefaultSize.
	Size int
	// Full is called when the ring is full, by the recorder; it may take events out. Without it the
	// event is lost.
	Full func()
}

// NewRing returns an empty ring.
func NewRing(c Config) *Ring {
	size := 1
	if c.Size <= 0 {
		c.Size = DefaultSize
	}
	for size < c.Size {
		size <<= 1
	}
	sample := min(max(c.Sample, 0), 1)
	return &Ring{name: c.Name, sampled: uint32(sample * math.MaxUint32), full: c.Full,
		events: make([]Event, size), mask: uint64(size - 1)}
}

// Name returns the name of the recorder.
func (r *Ring) Name() string { return r.name }

// Samples reports whether a sampled event about psn is to be recorded. The choice depends on the
// PSN alone, is spread evenly (Fibonacci hashing: Knuth, volume 3, section 6.4), and includes those
// of every smaller sample.
func (r *Ring) Samples(psn wire.PSN) bool {
	const golden = 0x9e3779b1 // 2^32 divided by the golden ratio
	return uint32(psn)*golden <= r.sampled
}

// Place returns the number of a port of a network for events. It must be called by the recorder.
func (r *Ring) Place(name string) Place {
	r.places = append(r.places, name)
	return Place(len(r.places))
}

// PlaceName returns the name of a place, or "" for none.
func (r *Ring) PlaceName(p Place) string {
	if p == 0 || int(p) > len(r.places) {
		return ""
	}
	return r.places[p-1]
}

// Record adds a copy of the event. It must be called by one goroutine.
func (r *Ring) Record(ev *Event) {
	head := r.head.Load()
	if head == r.room && !r.makeRoom(head) {
		r.lost.Store(r.lost.Load() + 1)
		return
	}
	r.events[head&r.mask] = *ev
	r.head.Store(head + 1)
}

// makeRoom reports whether there is room for the event at head.
func (r *Ring) makeRoom(head uint64) bool {
	if r.room = r.tail.Load() + uint64(len(r.events)); head != r.room {
		return true
	}
	if r.full == nil {
		return false
	}
	r.full()
	r.room = r.tail.Load() + uint64(len(r.events))
	return head != r.room
}

// Take passes the recorded events to f, in order, and makes room for others. It returns their
// number. It must be called by one goroutine at a time.
func (r *Ring) Take(f func(*Event)) int {
	head, tail := r.head.Load(), r.tail.Load()
	n := int(head - tail)
	for ; tail != head; tail++ {
		f(&r.events[tail&r.mask])
		if tail&255 == 255 { // so that the recorder finds room before all are taken
			r.tail.Store(tail + 1)
		}
	}
	r.tail.Store(tail)
	return n
}

// Lost returns how many events found the ring full.
func (r *Ring) Lost() uint64 { return r.lost.Load() }
