package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/protocol"
)

// ErrClosed is returned by the methods of a closed Engine.
var ErrClosed = errors.New("engine: closed")

// Engine serves sessions on endpoint 0 of a Host.
type Engine struct {
	host *goroce.Host
	wake *shared // the page that all sessions map
	gids []netip.Addr

	limits      transport.DeviceAttr
	sharedCount atomic.Int32 // of objects with shared memory

	mu       sync.Mutex
	closed   bool
	sessions map[*Session]struct{}
	running  sync.WaitGroup

	// What follows belongs to the polling core.
	cm       cmManager
	attached []*Session
	cqs      map[*transport.CompletionQueue]*completionQueue
	srqs     map[*transport.SharedReceiveQueue]*sharedQueue
	dirty    []*completionQueue // with completions to copy, or an event to send
	wr       transport.WorkRequest
	rr       transport.RecvRequest
	sges     [maxSGE]transport.SGE
	wcs      [32]transport.WorkCompletion
}

// maxSessions limits the threads that wait for requests.
const maxSessions = 1024

// maxSGE is at least what the transport accepts.
const maxSGE = 32

// Open opens a port and starts an engine on it. It sets Asleep and Wrap of the options.
func Open(url string, o goroce.Options) (*Engine, error) { return open(url, o, false) }

// open is Open for a port at whose other end nothing is, or something.
func open(url string, o goroce.Options, alone bool) (*Engine, error) {
	wake, err := newShared("goroce-wake", protocol.WakeSize)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	o.Asleep = wake.word(0)
	o.Wrap = hairpin(alone, o.Wrap)
	host, err := goroce.Open(url, o)
	if err != nil {
		wake.close()
		return nil, err
	}
	e := &Engine{host: host, wake: wake, sessions: make(map[*Session]struct{}),
		cqs:  make(map[*transport.CompletionQueue]*completionQueue),
		srqs: make(map[*transport.SharedReceiveQueue]*sharedQueue)}
	for _, p := range host.Addrs() {
		if len(e.gids) < protocol.MaxGIDs {
			e.gids = append(e.gids, p.Addr())
		}
	}
	err = e.do(func(ep *transport.Endpoint) { e.limits = ep.Query() })
	if err == nil {
		err = e.startCM()
	}
	if err == nil {
		_, err = host.Run(0, e)
	}
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	return e, nil
}

// hairpin returns a decorator of the port within wrap that returns frames to ourselves: queue pairs
// of one engine may be connected.
func hairpin(alone bool, wrap func(int, packet.Port) packet.Port) func(int,
	packet.Port) packet.Port {
	return func(i int, p packet.Port) packet.Port {
		p = packet.NewHairpin(p, alone)
		if wrap != nil {
			p = wrap(i, p)
		}
		return p
	}
}

// Host returns the host, for its statistics.
func (e *Engine) Host() *goroce.Host { return e.host }

// Serve serves a session over a SOCK_SEQPACKET socket, which it then owns unless it returns an
// error, in a goroutine of its
// own. memory resolves the addresses of the program at the other end.
func (e *Engine) Serve(socket int, memory Memory) error {
	return e.serve(newSession(e, socket, memory))
}

// ServeProcess is Serve for another process, which shares its memory in the session (Process).
// The session ends when that process does. It owns the pidfd, too, which may be -1. If it returns
// an error, the socket is still the caller's.
func (e *Engine) ServeProcess(socket, pidfd int) error {
	s := newSession(e, socket, nil)
	s.pidfd = pidfd
	return e.serve(s)
}

func (e *Engine) serve(s *Session) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	if len(e.sessions) == maxSessions {
		return fmt.Errorf("engine: %d sessions: %w", maxSessions, transport.ErrLimit)
	}
	e.sessions[s] = struct{}{}
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		s.run()
		e.mu.Lock()
		delete(e.sessions, s)
		e.mu.Unlock()
	}()
	return nil
}

// Sessions returns the number of sessions.
func (e *Engine) Sessions() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions)
}

// Close ends all sessions and closes the host.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	for s := range e.sessions {
		s.stop()
	}
	e.mu.Unlock()
	e.running.Wait()
	err := e.host.Close()
	e.wake.close()
	return err
}

// do runs f on the polling core.
func (e *Engine) do(f func(ep *transport.Endpoint)) error { return e.host.Do(0, f) }

// Step implements goroce.Program.
func (e *Engine) Step(ep *transport.Endpoint, now units.Time) (busy, done bool) {
	for _, s := range e.attached {
		if s.drain() {
			busy = true
		}
	}
	if e.deliver() {
		busy = true
	}
	if e.cm.step(ep, now) {
		busy = true
	}
	for ev, ok := ep.PollAsync(); ok; ev, ok = ep.PollAsync() {
		e.dispatch(&ev)
		busy = true
	}
	return busy, false
}

// HasWork implements goroce.Waker.
func (e *Engine) HasWork() bool {
	for _, s := range e.attached {
		if s.hasWork() {
			return true
		}
	}
	return false
}

// link returns the rate of the port and whether it can be used. Shared memory is up before the
// other end has opened it.
func (e *Engine) link() (bps uint64, up bool) {
	link, err := e.host.Device().Link()
	return uint64(link.Mbps) * 1e6, err == nil
}

var _ goroce.Waker = (*Engine)(nil)
