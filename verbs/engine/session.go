package engine

import (
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// Session is one ibv_context of a program. Its objects belong to the polling core.
type Session struct {
	engine *Engine
	socket int
	pidfd  int    // of the program's process; -1: unknown
	memory Memory // nil: of a daemon's program that has not shared its memory yet
	events int    // the socket to which asynchronous events go; -1 before Hello
	shared *shared

	tails, heads []atomic.Uint32
	queues       []*workQueue // by their number; nil: free
	objects      map[uint32]any
	next         uint32           // the newest handle
	mapped       mapping          // by prepare of the present request
	prepared     *shared          // likewise, until an object has it
	released     []*shared        // by the present request
	process      *Process         // the memory of a daemon's program
	pending      []protocol.Event // for which the events' socket has no room
}

// The most objects of each session; the transport has limits of its own.
const (
	maxObjects = 1 << 20
	maxPending = 1024 // events that the program does not fetch
)

func newSession(e *Engine, socket int, memory Memory) *Session {
	return &Session{engine: e, socket: socket, memory: memory, events: -1, pidfd: -1,
		objects: make(map[uint32]any)}
}

// stop makes run return.
func (s *Session) stop() { _ = unix.Shutdown(s.socket, unix.SHUT_RDWR) }

// run serves the session until the program closes the socket.
func (s *Session) run() {
	defer func() { _ = unix.Close(s.socket) }()
	message := make([]byte, protocol.MaxMessage+1)
	for {
		if s.pidfd >= 0 && !awaitMessage(s.socket, s.pidfd) {
			break
		}
		n, fds, err := receive(s.socket, message)
		if err != nil || n == 0 {
			break
		}
		reply, out := s.execute(message[:n], fds)
		closeAll(fds)
		err = send(s.socket, reply, descriptors(out))
		for _, m := range out {
			if m != s.engine.wake {
				m.sent()
			}
		}
		if err != nil {
			break
		}
	}
	_ = s.engine.do(func(ep *transport.Endpoint) { s.destroyAll(ep) })
	s.tidy()
	if s.process != nil {
		s.process.close()
	}
	if s.pidfd >= 0 {
		_ = unix.Close(s.pidfd)
	}
	if s.events >= 0 {
		_ = unix.Close(s.events)
	}
}

// answer is what a request's execution returns: a body of package protocol or nil, and memory
// whose descriptors go with it.
type answer struct {
	body   any
	memory []*shared
}

// execute executes a request and returns the reply. fds holds the descriptors that came with it;
// an operation that keeps one sets it to -1.
func (s *Session) execute(message []byte, fds []int) (reply []byte, memory []*shared) {
	h, body, err := protocol.ParseHeader(message)
	var a answer
	if err == nil {
		a, err = s.perform(h.Op, body, fds)
	}
	h.Error = errnoOf(err)
	if err != nil {
		a = answer{}
	}
	reply, err = protocol.Append(nil, h, a.body)
	if err != nil { // a body of variable size: a mistake in this package
		reply, _ = protocol.Append(nil, protocol.Header{Op: h.Op, Error: uint32(unix.EIO)}, nil)
	}
	return reply, a.memory
}

// perform executes an operation on the polling core.
func (s *Session) perform(op protocol.Op, body []byte, fds []int) (a answer, err error) {
	handler, ok := handlers[op]
	if !ok {
		return a, fmt.Errorf("operation %d: %w", op, errors.ErrUnsupported)
	}
	if (s.shared == nil) != (op == protocol.OpHello) {
		return a, fmt.Errorf("operation %d before or after Hello: %w", op, transport.ErrInvalid)
	}
	if handler.prepare != nil {
		if err := handler.prepare(s, body); err != nil {
			return a, err
		}
	}
	doErr := s.engine.do(func(ep *transport.Endpoint) { a, err = handler.run(s, ep, body, fds) })
	s.tidy()
	return a, errors.Join(err, doErr)
}

// tidy unmaps what the request has released, or prepared in vain.
func (s *Session) tidy() {
	if s.prepared != nil {
		s.prepared.close()
		s.prepared = nil
	}
	for _, m := range s.released {
		m.close()
	}
	s.released = nil
}

// prepare makes the shared memory of a new object, which takes its time, outside the polling core.
func (s *Session) prepare(name string, size int) (err error) {
	if size > maxRing {
		return fmt.Errorf("%d bytes of shared memory: %w", size, transport.ErrLimit)
	}
	s.prepared, err = s.engine.newShared(name, size)
	return err
}

// takePrepared returns what prepare has made.
func (s *Session) takePrepared() *shared {
	m := s.prepared
	s.prepared = nil
	return m
}

// release makes tidy unmap memory that nothing uses any more.
func (s *Session) release(m *shared) { s.released = append(s.released, m) }

// handler executes one operation.
type handler struct {
	prepare func(s *Session, body []byte) error // in the session's goroutine
	run     func(s *Session, ep *transport.Endpoint, body []byte, fds []int) (answer, error)
}

// on makes a handler of a function of the decoded body.
func on[T any](f func(s *Session, ep *transport.Endpoint, body *T) (answer, error)) handler {
	return handler{run: func(s *Session, ep *transport.Endpoint, body []byte, _ []int) (answer,
		error) {
		v, err := protocol.Decode[T](body)
		if err != nil {
			return answer{}, err
		}
		return f(s, ep, &v)
	}}
}

// after makes prepare run before the handler.
func (h handler) after(prepare func(*Session, []byte) error) handler {
	h.prepare = prepare
	return h
}

var handlers map[protocol.Op]handler

func init() {
	handlers = map[protocol.Op]handler{
		protocol.OpHello:          {run: (*Session).hello, prepare: (*Session).prepareSession},
		protocol.OpShareMemory:    {run: (*Session).shareMemory},
		protocol.OpQueryPort:      on((*Session).queryPort),
		protocol.OpAllocPD:        on((*Session).allocPD),
		protocol.OpDeallocPD:      on((*Session).deallocPD),
		protocol.OpRegMR:          on((*Session).regMR).after((*Session).resolve),
		protocol.OpReregMR:        on((*Session).reregMR).after((*Session).resolveAgain),
		protocol.OpDeregMR:        on((*Session).deregMR),
		protocol.OpCreateChannel:  {run: (*Session).createChannel},
		protocol.OpDestroyChannel: on((*Session).destroyChannel),
		protocol.OpCreateCQ:       on((*Session).createCQ).after((*Session).prepareCQ),
		protocol.OpResizeCQ:       on((*Session).resizeCQ).after((*Session).prepareCQ),
		protocol.OpDestroyCQ:      on((*Session).destroyCQ),
		protocol.OpCreateSRQ:      on((*Session).createSRQ).after((*Session).prepareSRQ),
		protocol.OpModifySRQ:      on((*Session).modifySRQ),
		protocol.OpQuerySRQ:       on((*Session).querySRQ),
		protocol.OpDestroySRQ:     on((*Session).destroySRQ),
		protocol.OpCreateQP:       on((*Session).createQP).after((*Session).prepareQP),
		protocol.OpModifyQP:       on((*Session).modifyQP),
		protocol.OpQueryQP:        on((*Session).queryQP),
		protocol.OpDestroyQP:      on((*Session).destroyQP),
		protocol.OpCreateAH:       on((*Session).createAH),
		protocol.OpDestroyAH:      on((*Session).destroyAH),
	}
	maps.Copy(handlers, cmHandlers())
}

func (s *Session) prepareSession([]byte) error {
	return s.prepare("goroce-session", protocol.SessionSize)
}

// hello begins the session.
func (s *Session) hello(ep *transport.Endpoint, body []byte, fds []int) (answer, error) {
	h, err := protocol.Decode[protocol.Hello](body)
	if err != nil {
		return answer{}, err
	}
	if h.Version != protocol.Version || len(fds) != 1 {
		return answer{}, fmt.Errorf("version %d with %d descriptors, want %d with 1: %w", h.Version,
			len(fds), protocol.Version, transport.ErrInvalid)
	}
	s.shared = s.takePrepared()
	s.tails = s.shared.words(protocol.TailsOffset, protocol.Queues)
	s.heads = s.shared.words(protocol.HeadsOffset, protocol.Queues)
	s.events, fds[0] = fds[0], -1
	s.engine.attached = append(s.engine.attached, s)
	d := s.engine.describe(ep)
	return answer{body: d, memory: []*shared{s.shared, s.engine.wake}}, nil
}

// describe returns the device's attributes.
func (e *Engine) describe(ep *transport.Endpoint) *protocol.Device {
	q := ep.Query()
	bps, _ := e.link()
	d := &protocol.Device{LinkBPS: bps, MaxQP: protocol.Queues / 2, MaxQPWR: uint32(q.MaxQPWR),
		MaxSGE: uint32(min(q.MaxSGE, maxSGE)), MaxInline: uint32(q.MaxInline), MaxCQ: maxObjects,
		MaxCQE: uint32(q.MaxCQE), MaxMR: uint32(q.MaxMR), MaxPD: maxObjects,
		MaxSRQ: protocol.Queues / 2, MaxSRQWR: uint32(q.MaxQPWR), MaxAH: maxObjects,
		MaxRdAtomic: uint32(q.MaxRdAtomic), MaxMTU: mtuCode(q.PathMTU),
		GIDCount: uint32(len(e.gids))}
	copy(d.MAC[:], q.MAC[:])
	for i, a := range e.gids {
		d.GIDs[i] = a.As16()
	}
	return d
}

func (s *Session) queryPort(_ *transport.Endpoint, _ *struct{}) (answer, error) {
	bps, up := s.engine.link()
	p := &protocol.Port{LinkBPS: bps}
	if up {
		p.Active = 1
	}
	return answer{body: p}, nil
}
