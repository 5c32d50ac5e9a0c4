package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// workQueue is a ring of work requests that a program fills: the send or receive queue of a queue
// pair, or a shared receive queue.
type workQueue struct {
	number int
	ring   []byte // its slots
	mask   uint32
	stride int
	head   uint32 // next to be taken
	drain  func(*workQueue) bool
	qp     *queuePair
	srq    *sharedQueue
}

// maxRing limits the memory of the rings of one object.
const maxRing = 1 << 30

func entries(n uint32) int {
	size := 1
	for size < int(n) {
		size *= 2
	}
	return size
}

// layout places rings one behind another in the memory of an object.
type layout struct{ size int }

func (l *layout) place(n uint32, stride int) protocol.Ring {
	size := entries(n)
	r := protocol.Ring{Offset: uint32(l.size), Entries: uint32(size), Stride: uint32(stride)}
	l.size += (size*stride + 63) &^ 63
	return r
}

// addQueue gives a ring in m a number, and drains it from now on.
func (s *Session) addQueue(m *shared, r *protocol.Ring, drain func(*workQueue) bool) (*workQueue,
	error) {
	number := -1
	for i, q := range s.queues {
		if q == nil {
			number = i
			break
		}
	}
	if number < 0 {
		if number = len(s.queues); number == protocol.Queues {
			return nil, fmt.Errorf("%d queues in the session: %w", number, transport.ErrLimit)
		}
		s.queues = append(s.queues, nil)
	}
	r.Queue = uint32(number)
	q := &workQueue{number: number, mask: r.Entries - 1, stride: int(r.Stride), drain: drain,
		ring: m.bytes[r.Offset:][:int(r.Entries)*int(r.Stride)]}
	s.tails[number].Store(0)
	s.heads[number].Store(0)
	s.queues[number] = q
	return q, nil
}

func (s *Session) removeQueue(q *workQueue) {
	if q != nil {
		s.queues[q.number] = nil
	}
}

func (q *workQueue) slot(i uint32) []byte {
	offset := int(i&q.mask) * q.stride
	return q.ring[offset : offset+q.stride : offset+q.stride]
}

// posted returns how many slots are filled. A program cannot fill more than there are.
func (q *workQueue) posted(tails []atomic.Uint32) uint32 {
	return min(tails[q.number].Load()-q.head, q.mask+1)
}

// sharedQueue is a shared receive queue.
type sharedQueue struct {
	*transport.SharedReceiveQueue
	session *Session
	handle  uint32
	cookie  uint64
	memory  *shared
	queue   *workQueue
	maxWR   uint32
	maxSGE  int
	limit   uint32
}

// prepareSRQ makes the ring of a new queue.
func (s *Session) prepareSRQ(body []byte) error {
	r, err := protocol.Decode[protocol.CreateSRQ](body)
	if err != nil {
		return err
	}
	if r.MaxWR < 1 || r.MaxWR > uint32(s.engine.limits.MaxQPWR) || r.MaxSGE > maxSGE {
		return fmt.Errorf("%d receives of %d elements: %w", r.MaxWR, r.MaxSGE,
			transport.ErrInvalid)
	}
	var l layout
	l.place(r.MaxWR, protocol.RecvStride(int(max(r.MaxSGE, 1))))
	return s.prepare("goroce-srq", l.size)
}

func (s *Session) createSRQ(ep *transport.Endpoint, r *protocol.CreateSRQ) (answer, error) {
	pd, err := find[protectionDomain](s, r.PD)
	if err != nil {
		return answer{}, err
	}
	r.MaxSGE = max(r.MaxSGE, 1)
	srq, err := ep.CreateSRQ(pd.ProtectionDomain, int(r.MaxWR), int(r.MaxSGE))
	if err != nil {
		return answer{}, err
	}
	o := &sharedQueue{SharedReceiveQueue: srq, session: s, cookie: r.Cookie, maxWR: r.MaxWR,
		maxSGE: int(r.MaxSGE)}
	var l layout
	ring := l.place(r.MaxWR, protocol.RecvStride(o.maxSGE))
	o.memory = s.takePrepared()
	o.queue, err = s.addQueue(o.memory, &ring, s.drainSRQ)
	if err == nil {
		o.queue.srq = o
		o.handle, err = s.add(o)
	}
	if err != nil {
		s.removeSRQ(o)
		return answer{}, err
	}
	srq.OnEmpty(func() { s.drainSRQ(o.queue) })
	s.engine.srqs[srq] = o
	return answer{body: &protocol.SRQ{Handle: o.handle, MaxWR: r.MaxWR, MaxSGE: r.MaxSGE,
		Ring: ring}, memory: []*shared{o.memory}}, nil
}

func (s *Session) removeSRQ(o *sharedQueue) {
	delete(s.engine.srqs, o.SharedReceiveQueue)
	_ = o.Destroy()
	s.removeQueue(o.queue)
	if o.memory != nil {
		s.release(o.memory)
	}
	delete(s.objects, o.handle)
}

// Bits of enum ibv_srq_attr_mask.
const (
	srqMaxWR = 1 << iota
	srqLimit
)

func (s *Session) modifySRQ(_ *transport.Endpoint, r *protocol.ModifySRQ) (answer, error) {
	o, err := find[*sharedQueue](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	if r.Mask&^(srqMaxWR|srqLimit) != 0 || r.Mask&srqLimit != 0 && r.Limit > o.maxWR {
		return answer{}, fmt.Errorf("SRQ attributes %#x with limit %d of %d: %w", r.Mask, r.Limit,
			o.maxWR, transport.ErrInvalid)
	}
	s.drainSRQ(o.queue)
	if r.Mask&srqMaxWR != 0 {
		if err := o.Resize(int(r.MaxWR)); err != nil {
			return answer{}, err
		}
		o.maxWR = r.MaxWR
	}
	if r.Mask&srqLimit != 0 {
		o.limit = r.Limit
		o.Arm(int(r.Limit))
	}
	return answer{}, nil
}

func (s *Session) querySRQ(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	o, err := find[*sharedQueue](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	return answer{body: &protocol.SRQ{Handle: r.Handle, MaxWR: o.maxWR, MaxSGE: uint32(o.maxSGE),
		Limit: o.limit}}, nil
}

func (s *Session) destroySRQ(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	o, err := find[*sharedQueue](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	if err := o.Destroy(); err != nil {
		return answer{}, err
	}
	s.removeSRQ(o)
	return answer{}, nil
}
