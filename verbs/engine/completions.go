package engine

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// channel is a completion channel: the socket to which its events go.
type channel struct {
	socket int
	users  int
}

func (c *channel) close() { _ = unix.Close(c.socket) }

func (s *Session) createChannel(_ *transport.Endpoint, body []byte, fds []int) (answer, error) {
	if len(body) != 0 || len(fds) != 1 {
		return answer{}, fmt.Errorf("channel with %d descriptors, want 1: %w", len(fds),
			transport.ErrInvalid)
	}
	h, err := s.add(&channel{socket: fds[0]})
	if err == nil {
		fds[0] = -1
	}
	return answer{body: &protocol.Handle{Handle: h}}, err
}

func (s *Session) destroyChannel(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	c, err := find[*channel](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	if c.users > 0 {
		return answer{}, fmt.Errorf("%d completion queues use the channel: %w", c.users,
			transport.ErrBusy)
	}
	c.close()
	delete(s.objects, r.Handle)
	return answer{}, nil
}

// completionQueue copies the completions of the transport's queue to a ring of the program's.
type completionQueue struct {
	*transport.CompletionQueue
	session *Session
	handle  uint32
	cookie  uint64
	channel *channel // nil: none
	depth   int

	memory      *shared
	ring        []protocol.CQE
	polled      *atomic.Uint32 // by the program
	armed       *atomic.Uint32
	waiting     *atomic.Uint32
	tail        uint32 // completions written
	taken       uint32 // polled as last read
	dirty       bool   // in engine.dirty
	solicited   bool   // since the newest event
	any         bool   // likewise
	unsentEvent bool   // the channel's socket was full
}

// prepareCQ makes the ring of a new or resized queue.
func (s *Session) prepareCQ(body []byte) error {
	r, err := protocol.Decode[protocol.CreateCQ](body)
	if err != nil {
		return err
	}
	if r.Depth < 1 || r.Depth > uint32(s.engine.limits.MaxCQE) {
		return fmt.Errorf("completion queue of depth %d, want 1 to %d: %w", r.Depth,
			s.engine.limits.MaxCQE, transport.ErrInvalid)
	}
	return s.prepare("goroce-cq", cqSize(entries(r.Depth)))
}

func (s *Session) createCQ(ep *transport.Endpoint, r *protocol.CreateCQ) (answer, error) {
	cq, err := ep.CreateCQ(int(r.Depth))
	if err != nil {
		return answer{}, err
	}
	o := &completionQueue{CompletionQueue: cq, session: s, cookie: r.Cookie}
	if r.Channel != 0 {
		if o.channel, err = find[*channel](s, r.Channel); err != nil {
			return answer{}, err
		}
	}
	o.allocate(s.takePrepared(), int(r.Depth))
	if o.handle, err = s.add(o); err != nil {
		s.release(o.memory)
		return answer{}, err
	}
	if o.channel != nil {
		o.channel.users++
	}
	cq.OnEvent(func(*transport.CompletionQueue) { s.engine.markDirty(o) })
	cq.RequestNotify(false)
	s.engine.cqs[cq] = o
	return answer{body: o.describe(), memory: []*shared{o.memory}}, nil
}

func (o *completionQueue) describe() *protocol.CQ {
	return &protocol.CQ{Handle: o.handle, Depth: uint32(o.depth), Entries: uint32(len(o.ring))}
}

// allocate makes a new, empty ring in memory.
func (o *completionQueue) allocate(memory *shared, depth int) {
	n := entries(uint32(depth))
	o.memory, o.depth, o.ring = memory, depth, memory.cqes(n)
	o.polled, o.armed, o.waiting = memory.cqHead()
	o.tail, o.taken = 0, 0
}

// resizeCQ moves the completions that the program has not polled to a new ring.
func (s *Session) resizeCQ(_ *transport.Endpoint, r *protocol.CreateCQ) (answer, error) {
	o, err := find[*completionQueue](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	old := *o
	left := min(o.tail-o.polled.Load(), uint32(len(o.ring)))
	if left > r.Depth {
		return answer{}, fmt.Errorf("depth %d, but %d completions are in the queue: %w", r.Depth,
			left, transport.ErrInvalid)
	}
	if err := o.Resize(int(r.Depth)); err != nil {
		return answer{}, err
	}
	o.allocate(s.takePrepared(), int(r.Depth))
	for i := old.tail - left; i != old.tail; i++ {
		e := &o.ring[o.tail&uint32(len(o.ring)-1)]
		*e = old.ring[i&uint32(len(old.ring)-1)]
		o.tail++
		publish(e, o.tail)
	}
	o.armed.Store(old.armed.Load())
	s.release(old.memory)
	return answer{body: o.describe(), memory: []*shared{o.memory}}, nil
}

func (s *Session) destroyCQ(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	o, err := find[*completionQueue](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	if err := o.Destroy(); err != nil {
		return answer{}, err
	}
	s.removeCQ(o)
	return answer{}, nil
}

func (s *Session) removeCQ(o *completionQueue) {
	_ = o.Destroy()
	delete(s.engine.cqs, o.CompletionQueue)
	s.engine.unmark(o)
	if o.channel != nil {
		o.channel.users--
	}
	s.release(o.memory)
	delete(s.objects, o.handle)
}

// markDirty is called when a completion is added to an armed transport queue.
func (e *Engine) markDirty(o *completionQueue) {
	if !o.dirty {
		o.dirty = true
		e.dirty = append(e.dirty, o)
	}
}

func (e *Engine) unmark(o *completionQueue) {
	for i, d := range e.dirty {
		if d == o {
			e.dirty[i] = e.dirty[len(e.dirty)-1]
			e.dirty = e.dirty[:len(e.dirty)-1]
			return
		}
	}
}

// deliver copies completions to the programs' rings, and reports whether there were some.
func (e *Engine) deliver() (busy bool) {
	for i := 0; i < len(e.dirty); i++ {
		o := e.dirty[i]
		copied, rest := e.copyCompletions(o)
		busy = busy || copied
		if !rest {
			rest = !o.sendEvent()
		}
		if rest {
			continue // its ring or its socket is full
		}
		o.dirty = false
		o.RequestNotify(false)
		e.dirty[i] = e.dirty[len(e.dirty)-1]
		e.dirty = e.dirty[:len(e.dirty)-1]
		i--
		if o.Len() > 0 { // added while no event was requested
			e.markDirty(o)
		}
	}
	return busy
}

// room returns how many completions the ring takes.
func (o *completionQueue) room() int {
	size := uint32(o.depth)
	if o.tail-o.taken >= size {
		o.taken = o.polled.Load()
		if o.tail-o.taken > size { // not what we wrote
			o.taken = o.tail - size
		}
	}
	return int(size - (o.tail - o.taken))
}

// copyCompletions fills the program's ring, and reports whether it copied some and whether some are
// left.
func (e *Engine) copyCompletions(o *completionQueue) (copied, rest bool) {
	for o.Len() > 0 {
		room := o.room()
		if room == 0 {
			return copied, true
		}
		n := o.Poll(e.wcs[:min(room, len(e.wcs))])
		for i := range e.wcs[:n] {
			o.put(&e.wcs[i])
		}
		copied = true
		wakeWaiter(o.waiting)
	}
	return copied, false
}

// forget makes the completions of a queue pair void that the program has not polled: it is reset
// (InfiniBand spec 10.2.4.4). The library skips them.
func (o *completionQueue) forget(qp *queuePair) {
	o.session.engine.copyCompletions(o)
	left := min(o.tail-o.polled.Load(), uint32(len(o.ring)))
	for i := o.tail - left; i != o.tail; i++ {
		if e := &o.ring[i&uint32(len(o.ring)-1)]; e.QPNum == uint32(qp.Num) {
			e.Opcode = protocol.Void
		}
	}
}

// Opcodes of completions (enum ibv_wc_opcode) by the transport's, and their flags.
var wcOpcodes = [...]uint8{transport.OpSend: 0, transport.OpSendImm: 0, transport.OpSendInv: 0,
	transport.OpWrite: 1, transport.OpWriteImm: 1, transport.OpRead: 2, transport.OpCmpSwap: 3,
	transport.OpFetchAdd: 4, transport.OpLocalInv: 6, transport.OpRecv: 128,
	transport.OpRecvWriteImm: 129}

const (
	wcGRH     = 1 << 0
	wcWithImm = 1 << 1
	wcWithInv = 1 << 3
	wcV6      = 1 << 15 // GR_CQE_V6
)

// put writes one completion.
func (o *completionQueue) put(wc *transport.WorkCompletion) {
	e := &o.ring[o.tail&uint32(len(o.ring)-1)]
	e.WRID, e.ByteLen, e.Imm = wc.ID, wc.ByteLen, wc.Imm
	e.QPNum, e.SrcQP = uint32(wc.QPN), uint32(wc.SrcQP)
	e.Status, e.Opcode = uint8(wc.Status), wcOpcodes[wc.Op]
	var flags uint16
	if wc.WithGRH {
		flags |= wcGRH
	}
	if wc.V6 {
		flags |= wcV6
	}
	if wc.WithImm {
		flags |= wcWithImm
	}
	if wc.WithInv {
		flags |= wcWithInv
	}
	e.Flags = flags
	o.tail++
	publish(e, o.tail)
	o.any = true
	if wc.Solicited || wc.Status != transport.StatusSuccess {
		o.solicited = true
	}
}

// sendEvent sends an event to the channel if the program has armed the queue for what was added. It
// reports whether that is done.
func (o *completionQueue) sendEvent() bool {
	if o.channel == nil {
		return true
	}
	if !o.unsentEvent {
		armed := o.armed.Load()
		if armed == protocol.NotArmed || !o.any ||
			armed == protocol.ArmedSolicited && !o.solicited {
			o.any, o.solicited = false, false
			return true
		}
		o.armed.Store(protocol.NotArmed)
		o.any, o.solicited = false, false
	}
	var event [8]byte
	binary.NativeEndian.PutUint64(event[:], o.cookie)
	o.unsentEvent = !notify(o.channel.socket, event[:])
	return !o.unsentEvent
}
