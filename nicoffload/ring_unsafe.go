package nicoffload

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/goroce/goroce/units"
)

// A ring is a queue of Slots in memory that two cores or two processes share, with one producer and
// one consumer. The positions count Slots and wrap at 2^64: the producer's at offset 0, the
// consumer's at 64, each on a cache line of its own, the Slots from 128 on. Slots between the two
// positions are the consumer's, all others the producer's. What the other end writes is not
// trusted.
const (
	ringTail   = 0
	ringHead   = 64
	ringHeader = 128
)

// RingBytes is how much memory a ring of so many Slots takes.
func RingBytes(slots int) int { return ringHeader + slots*Slot }

// end is what both ends of a ring have.
type end struct {
	tail, head *atomic.Uint64
	slots      []byte
	mask       uint64 // of positions
	mine       uint64 // the position that this end moves
	theirs     uint64 // the other one, as last seen
	broken     uint64 // times that the other position could not be
}

func newEnd(mem []byte, slots int) (end, error) {
	if slots < MaxMessage/Slot || bits.OnesCount(uint(slots)) != 1 {
		return end{}, fmt.Errorf("nicoffload: a ring of %d slots: it is a power of two from 16",
			slots)
	}
	if len(mem) < RingBytes(slots) || uintptr(unsafe.Pointer(&mem[0]))%8 != 0 {
		return end{}, fmt.Errorf("nicoffload: a ring of %d slots in %d bytes: it takes %d, at a "+
			"multiple of 8", slots, len(mem), RingBytes(slots))
	}
	return end{
		tail:  (*atomic.Uint64)(unsafe.Pointer(&mem[ringTail])),
		head:  (*atomic.Uint64)(unsafe.Pointer(&mem[ringHead])),
		slots: mem[ringHeader:RingBytes(slots)], mask: uint64(slots - 1),
	}, nil
}

// Producer is the end of a ring that writes.
type Producer struct{ end }

// NewProducer makes the producer of the ring in mem, which goes on where the last one was.
func NewProducer(mem []byte, slots int) (*Producer, error) {
	e, err := newEnd(mem, slots)
	if err != nil {
		return nil, err
	}
	e.mine = e.tail.Load()
	p := &Producer{e}
	p.Room()
	return p, nil
}

// Room answers how many Slots can be pushed. A consumer that says it has read what was not written
// yet, or more than there is, is taken for one that reads nothing.
func (p *Producer) Room() int {
	size := p.mask + 1
	p.theirs = p.head.Load()
	if p.mine-p.theirs > size {
		p.broken++
		p.theirs = p.mine - size
	}
	return int(size - (p.mine - p.theirs))
}

// roomFor is Room, but looks at the consumer's position, which is on a line of its own that the
// consumer writes, only when what was seen of it last leaves less than so many Slots.
func (p *Producer) roomFor(slots int) int {
	if room := int(p.mask + 1 - (p.mine - p.theirs)); room >= slots {
		return room
	}
	return p.Room()
}

// Push adds whole Slots, or answers false when there is no room for all of them.
func (p *Producer) Push(b []byte) bool {
	n := len(b) / Slot
	if p.roomFor(n) < n {
		return false
	}
	i := int(p.mine&p.mask) * Slot
	if c := copy(p.slots[i:], b); c < len(b) {
		copy(p.slots, b[c:])
	}
	p.mine += uint64(n)
	p.tail.Store(p.mine)
	return true
}

// Consumer is the end of a ring that reads.
type Consumer struct{ end }

// NewConsumer makes the consumer of the ring in mem, which goes on where the last one was.
func NewConsumer(mem []byte, slots int) (*Consumer, error) {
	e, err := newEnd(mem, slots)
	if err != nil {
		return nil, err
	}
	e.mine, e.theirs = e.head.Load(), e.tail.Load()
	return &Consumer{e}, nil
}

// Waiting answers how many Slots can be pulled. A producer that says more than there are has lost
// its mind: what it wrote is skipped.
func (c *Consumer) Waiting() int {
	c.theirs = c.tail.Load()
	n := c.theirs - c.mine
	if n > c.mask+1 {
		c.broken++
		c.release(c.theirs)
		return 0
	}
	return int(n)
}

// peek copies up to so many whole Slots as there are and b has room for, and leaves them there.
func (c *Consumer) peek(b []byte) (n, waiting int) {
	waiting = c.Waiting()
	n = min(waiting, len(b)/Slot)
	i := int(c.mine&c.mask) * Slot
	if k := copy(b[:n*Slot], c.slots[i:]); k < n*Slot {
		copy(b[k:n*Slot], c.slots)
	}
	return n, waiting
}

// release gives all before a position back to the producer.
func (c *Consumer) release(pos uint64) {
	c.mine = pos
	c.head.Store(pos)
}

// Pull takes as many Slots as there are and b has room for, and answers how many bytes.
func (c *Consumer) Pull(b []byte) int {
	n, _ := c.peek(b)
	if n > 0 {
		c.release(c.mine + uint64(n))
	}
	return n * Slot
}

// PullMessages is Pull of whole messages. What cannot be one is skipped, with all that is behind
// it, for where the next one begins nobody knows; then torn is true.
func (c *Consumer) PullMessages(b []byte) (bytes int, torn bool) {
	n, waiting := c.peek(b)
	for bytes < n*Slot {
		length, err := messageLen(b[bytes : n*Slot])
		if err != nil {
			if n < waiting && n*Slot-bytes < MaxMessage { // cut short by b
				break
			}
			c.release(c.theirs)
			return bytes, true
		}
		bytes += length
	}
	if bytes > 0 {
		c.release(c.mine + uint64(bytes/Slot))
	}
	return bytes, false
}

// watch sees from the producer's side, or from neither, for how long a ring's consumer has left
// alone what is there.
type watch struct {
	end
	seen  uint64
	heard units.Time
}

func (w *watch) silence(now units.Time) units.Duration {
	if h := w.head.Load(); h != w.seen || h == w.tail.Load() {
		w.seen, w.heard = h, now
	}
	return now.Sub(w.heard)
}

// words are the counters as what they are made of.
func (c *Counters) words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(c)), int(unsafe.Sizeof(*c))/8)
}

// publish and read copy counters from one core or process to another, word for word.
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

// word is a number in memory that two processes share.
func word(mem []byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&mem[0])) }

// AlignedMemory is memory of this process for rings, which begins at a multiple of 8.
func AlignedMemory(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}
