package nicoffload

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/goroce/goroce/units"
)

// A ring is a queue of Slots in memory shared by two cores or processes, with one producer and one
// consumer. Its positions count Slots and wrap at 2^64. The producer's is at offset 0 and the
// consumer's at 64, each on a cache line of its own; the Slots begin at 128. Slots between the two
// positions belong to the consumer, all others to the producer. Values that the other end writes
// are not trusted.
const (
	ringTail   = 0
	ringHead   = 64
	ringHeader = 128
)

// RingBytes returns the size of a ring of slots Slots.
func RingBytes(slots int) int { return ringHeader + slots*Slot }

// ringEnd is the state that both ends of a ring have.
type ringEnd struct {
	tail, head *atomic.Uint64
	slots      []byte
	mask       uint64 // of positions
	own        uint64 // the position of this end
	peer       uint64 // the position of the other end, when last read
	broken     uint64 // number of implausible positions of the other end
}

func newEnd(mem []byte, slots int) (ringEnd, error) {
	if slots < MaxMessage/Slot || bits.OnesCount(uint(slots)) != 1 {
		return ringEnd{}, fmt.Errorf("nicoffload: ring of %d slots, want a power of two from %d",
			slots, MaxMessage/Slot)
	}
	if len(mem) < RingBytes(slots) || uintptr(unsafe.Pointer(&mem[0]))%8 != 0 {
		return ringEnd{}, fmt.Errorf("nicoffload: ring of %d slots in %d bytes, want %d bytes at "+
			"a multiple of 8", slots, len(mem), RingBytes(slots))
	}
	return ringEnd{
		tail:  (*atomic.Uint64)(unsafe.Pointer(&mem[ringTail])),
		head:  (*atomic.Uint64)(unsafe.Pointer(&mem[ringHead])),
		slots: mem[ringHeader:RingBytes(slots)], mask: uint64(slots - 1),
	}, nil
}

// Producer is the writing end of a ring.
type Producer struct{ ringEnd }

// NewProducer returns the producer of the ring in mem. It continues at the position of the last
// one.
func NewProducer(mem []byte, slots int) (*Producer, error) {
	e, err := newEnd(mem, slots)
	if err != nil {
		return nil, err
	}
	e.own = e.tail.Load()
	p := &Producer{e}
	p.Room()
	return p, nil
}

// Room returns how many Slots can be pushed. An implausible position of the consumer counts as a
// full ring.
func (p *Producer) Room() int {
	size := p.mask + 1
	p.peer = p.head.Load()
	if p.own-p.peer > size {
		p.broken++
		p.peer = p.own - size
	}
	return int(size - (p.own - p.peer))
}

// roomFor is like Room, but reads the consumer's position, which is on a cache line that the
// consumer writes, only if the value read last leaves less room than slots.
func (p *Producer) roomFor(slots int) int {
	if room := int(p.mask + 1 - (p.own - p.peer)); room >= slots {
		return room
	}
	return p.Room()
}

// Push adds whole Slots. It returns false if there is no room for all of them.
func (p *Producer) Push(b []byte) bool {
	n := len(b) / Slot
	if p.roomFor(n) < n {
		return false
	}
	i := int(p.own&p.mask) * Slot
	if c := copy(p.slots[i:], b); c < len(b) {
		copy(p.slots, b[c:])
	}
	p.own += uint64(n)
	p.tail.Store(p.own)
	return true
}

// Consumer is the reading end of a ring.
type Consumer struct{ ringEnd }

// NewConsumer returns the consumer of the ring in mem. It continues at the position of the last
// one.
func NewConsumer(mem []byte, slots int) (*Consumer, error) {
	e, err := newEnd(mem, slots)
	if err != nil {
		return nil, err
	}
	e.own, e.peer = e.head.Load(), e.tail.Load()
	return &Consumer{e}, nil
}

// Waiting returns how many Slots can be pulled. After an implausible position of the producer all
// Slots are skipped.
func (c *Consumer) Waiting() int {
	c.peer = c.tail.Load()
	n := c.peer - c.own
	if n > c.mask+1 {
		c.broken++
		c.release(c.peer)
		return 0
	}
	return int(n)
}

// peek copies as many Slots as there are and as fit into b, without removing them.
func (c *Consumer) peek(b []byte) (n, waiting int) {
	waiting = c.Waiting()
	n = min(waiting, len(b)/Slot)
	i := int(c.own&c.mask) * Slot
	if k := copy(b[:n*Slot], c.slots[i:]); k < n*Slot {
		copy(b[k:n*Slot], c.slots)
	}
	return n, waiting
}

// release returns all Slots before a position to the producer.
func (c *Consumer) release(pos uint64) {
	c.own = pos
	c.head.Store(pos)
}

// Pull removes as many Slots as there are and as fit into b, and returns the number of bytes.
func (c *Consumer) Pull(b []byte) int {
	n, _ := c.peek(b)
	if n > 0 {
		c.release(c.own + uint64(n))
	}
	return n * Slot
}

// PullMessages is like Pull, but removes only whole messages. After a malformed message, all Slots
// are skipped, since the next message cannot be located, and torn is true.
func (c *Consumer) PullMessages(b []byte) (bytes int, torn bool) {
	n, waiting := c.peek(b)
	for bytes < n*Slot {
		length, err := messageLen(b[bytes : n*Slot])
		if err != nil {
			if n < waiting && n*Slot-bytes < MaxMessage { // cut short by b
				break
			}
			c.release(c.peer)
			return bytes, true
		}
		bytes += length
	}
	if bytes > 0 {
		c.release(c.own + uint64(bytes/Slot))
	}
	return bytes, false
}

// consumerWatch measures for how long a ring's consumer has not taken what is there. It is used by
// the producer or by a third party.
type consumerWatch struct {
	ringEnd
	position uint64     // the consumer's position when last read
	movedAt  units.Time // when it last moved, or the ring was empty
}

func (w *consumerWatch) silence(now units.Time) units.Duration {
	if h := w.head.Load(); h != w.position || h == w.tail.Load() {
		w.position, w.movedAt = h, now
	}
	return now.Sub(w.movedAt)
}

// words returns the counters as a slice that shares their memory.
func (c *Counters) words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(c)), int(unsafe.Sizeof(*c))/8)
}

// publish and read copy counters between cores or processes, word by word.
func (c *Counters) publish(mem []byte) {
	for i, w := range c.words() {
		(*atomic.Uint64)(unsafe.Pointer(&mem[8*i])).Store(w)
	}
}

func (c *Counters) read(mem []byte) {
	words := c.words()
	for i := range words {
		words[i] = (*atomic.Uint64)(unsafe.Pointer(&mem[8*i])).Load()
	}
}

const countersBytes = int(unsafe.Sizeof(Counters{})+63) &^ 63

// word returns the 8 bytes at the beginning of mem as an atomic number.
func word(mem []byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&mem[0])) }

// AlignedMemory returns n bytes of memory of this process, aligned to 8, for rings.
func AlignedMemory(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}
