package packet

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// PipeOptions configures a Pipe. The zero value suits any transport.
type PipeOptions struct {
	Buffers  int           // buffers of each end; 0 means 1024
	Depth    int           // capacity of each class's queue in frames; 0 means 256
	Classes  int           // transmit queues; 0 means Classes
	MTU      units.Bytes   // longest IP datagram; 0 means 4200, more than the longest RoCEv2 packet
	LinkRate units.BitRate // value in Info; frames take no time
}

// PipeEnd is one end of a Pipe.
type PipeEnd struct {
	pipe  *pipe
	peer  *PipeEnd
	info  Info
	pool  pipePool
	queue [Classes]pipeQueue // frames on the way to the peer
}

// pipe is the state that both ends share.
type pipe struct {
	ends    [2]*PipeEnd
	buffers int // of each end
}

// pipePool is the buffers of one end. Buffer i has the handle base + i.
type pipePool struct {
	memory []byte
	room   int
	base   uintptr
	free   []int32
	state  []bufState
}

// bufState is the owner of a buffer.
type bufState uint8

const (
	bufFree   bufState = iota
	bufHeld            // by the caller that allocated or received it
	bufQueued          // sent and not yet received
)

// pipeQueue is a bounded FIFO.
type pipeQueue struct {
	bufs        []Buf
	head, count int
}

const vlanEthernet = 18 // bytes before an IP datagram, at most

// Pipe returns two connected ports in memory. Each receives what the other sends: control before
// ACKs before data, and each class in order. When a queue is full, Send accepts fewer frames.
// Frames move by reference: a buffer belongs to the end that allocated it and returns to its pool
// whichever end frees it. Freeing or sending a buffer that the caller does not hold is a
// programming error and panics.
//
// Both ends must be used by one goroutine. Only Pipe itself allocates memory.
func Pipe(o PipeOptions) (a, b *PipeEnd) {
	o.Buffers = orDefault(o.Buffers, 1024)
	o.Depth = orDefault(o.Depth, 256)
	o.Classes = min(orDefault(o.Classes, int(Classes)), int(Classes))
	o.MTU = orDefault(o.MTU, 4200)
	p := &pipe{buffers: o.Buffers}
	for i := range p.ends {
		p.ends[i] = newPipeEnd(p, i, o)
	}
	a, b = p.ends[0], p.ends[1]
	a.peer, b.peer = b, a
	return a, b
}

func orDefault[T ~int | ~int64](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

func newPipeEnd(p *pipe, i int, o PipeOptions) *PipeEnd {
	e := &PipeEnd{pipe: p, info: Info{
		Name: "pipe:" + string(rune('a'+i)), Driver: "pipe",
		MAC: MAC{0x02, 0, 0, 0, 0, byte(0x0a + i)}, // locally administered
		MTU: o.MTU, LinkRate: o.LinkRate, Classes: o.Classes, TxDepth: o.Depth, Reliable: true,
	}}
	for c := range e.info.Classes {
		e.queue[c].bufs = make([]Buf, o.Depth)
	}
	room := (int(o.MTU) + vlanEthernet + 63) &^ 63
	e.pool = pipePool{
		memory: make([]byte, o.Buffers*room), room: room, base: uintptr(i * o.Buffers),
		free: make([]int32, o.Buffers), state: make([]bufState, o.Buffers),
	}
	for j := range e.pool.free {
		e.pool.free[j] = int32(o.Buffers - 1 - j)
	}
	return e
}

// Info implements Port.
func (e *PipeEnd) Info() Info { return e.info }

// Outstanding returns how many of this end's buffers are not in its pool: held by a caller, or
// queued. A value other than 0 at the end of a test is a leak.
func (e *PipeEnd) Outstanding() int { return len(e.pool.state) - len(e.pool.free) }

// Alloc implements Port.
func (e *PipeEnd) Alloc(bufs []Buf) int {
	p := &e.pool
	n := min(len(bufs), len(p.free))
	for i := range n {
		j := int(p.free[len(p.free)-1])
		p.free = p.free[:len(p.free)-1]
		p.state[j] = bufHeld
		at := j * p.room
		bufs[i] = MakeBuf(p.base+uintptr(j), p.memory[at:at:at+p.room])
	}
	return n
}

// Free implements Port.
func (e *PipeEnd) Free(bufs []Buf) {
	for i := range bufs {
		p, j := e.pipe.owner(bufs[i].Handle, bufHeld, "free")
		p.state[j] = bufFree
		p.free = append(p.free, int32(j))
	}
}

// Send implements Port.
func (e *PipeEnd) Send(class Class, bufs []Buf) int {
	q := &e.queue[min(int(class), e.info.Classes-1)]
	n := min(len(bufs), len(q.bufs)-q.count)
	for i := range n {
		p, j := e.pipe.owner(bufs[i].Handle, bufHeld, "send")
		p.state[j] = bufQueued
		q.push(bufs[i])
	}
	return n
}

// Recv implements Port.
func (e *PipeEnd) Recv(bufs []Buf) int {
	n := 0
	for c := e.peer.info.Classes - 1; c >= 0; c-- {
		for q := &e.peer.queue[c]; n < len(bufs) && q.count > 0; n++ {
			bufs[n] = q.pop()
			p, j := e.pipe.owner(bufs[n].Handle, bufQueued, "receive")
			p.state[j] = bufHeld
		}
	}
	return n
}

// owner returns the pool of a handle and its index there. It panics unless the buffer is in the
// state want.
func (p *pipe) owner(handle uintptr, want bufState, verb string) (*pipePool, int) {
	end, j := int(handle)/p.buffers, int(handle)%p.buffers
	if end >= len(p.ends) || p.ends[end].pool.state[j] != want {
		panic(fmt.Sprintf("packet: %s of buffer %d, which the caller does not hold", verb, handle))
	}
	return &p.ends[end].pool, j
}

func (q *pipeQueue) push(b Buf) {
	q.bufs[(q.head+q.count)%len(q.bufs)] = b
	q.count++
}

func (q *pipeQueue) pop() Buf {
	b := q.bufs[q.head]
	q.head = (q.head + 1) % len(q.bufs)
	q.count--
	return b
}
