package goroce

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/queue"
	"github.com/goroce/goroce/packet/steering"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// mailboxDepth is how many calls may wait for a polling core; further callers block.
const mailboxDepth = 256

// requestDepth is how many requests of connections may wait for a polling core.
const requestDepth = 512

// worker is one polling core: a locked goroutine that owns an endpoint.
type worker struct {
	ep      *transport.Endpoint
	index   int            // among the host's endpoints
	port    *steering.Port // nil unless several endpoints share a device
	idle    Idle
	mailbox chan func(*transport.Endpoint)
	halt    atomic.Bool
	ended   chan struct{}
	tid     atomic.Int64 // of the polling thread
	doze    doze

	requests *queue.Queue[request]
	closed   atomic.Bool        // nobody handles requests any more
	conns    map[*Conn]struct{} // with queue pairs here
	due      []*Conn            // with completions
	request  request            // the one that is handled
	probe    request            // the one that is posted
	now      units.Time         // of this round
	probes   units.Time         // when probeQuiet is due
	wr       transport.WorkRequest
	sge      [1]transport.SGE
	received [16]transport.WorkCompletion // those that are handled

	programs []program
	activity uint64 // the endpoint's Activity after the latest round
	passed   uint64 // frames for other endpoints until then
	busy     bool   // the round did something
	woke     bool   // a goroutine
}

type program struct {
	Program
	waker Waker // nil: it is none
	ended chan struct{}
}

func startWorker(ep *transport.Endpoint, port *steering.Port, core int, idle Idle,
	asleep *atomic.Uint32) (*worker, error) {
	w := newWorker(ep)
	w.port, w.idle, w.doze.shared = port, idle, asleep
	return w, onCore(core, w.ended, w.poll)
}

// newWorker returns a worker that does not poll yet.
func newWorker(ep *transport.Endpoint) *worker {
	return &worker{ep: ep, mailbox: make(chan func(*transport.Endpoint), mailboxDepth),
		requests: queue.New[request](requestDepth), conns: make(map[*Conn]struct{}),
		ended: make(chan struct{})}
}

// onCore runs life in a goroutine locked to a thread on the core, and closes ended when it returns.
func onCore(core int, ended chan struct{}, life func()) error {
	started := make(chan error)
	reserveProcs(1)
	go func() {
		defer close(ended)
		defer reserveProcs(-1)
		release, err := dpdk.Register(core)
		started <- err
		if err != nil {
			return
		}
		defer release()
		setPoller(true)
		defer setPoller(false)
		prepareThread()
		life()
	}()
	return <-started
}

// poll is the main loop of a polling core.
func (w *worker) poll() {
	w.tid.Store(int64(unix.Gettid()))
	defer w.tid.Store(0) // the thread may run other goroutines later
	clock := processClock()
	now, read := clock.Now(), clock.Now
	idle := newIdler(w.idle, now, isOversubscribed())
	idle.sleep = func(d time.Duration) { w.doze.wait(d, w.hasWork) }
	w.ep.Loop().OnRound(w.step)
	for !w.halt.Load() {
		sends, next := w.round(now, read)
		if w.woke {
			if w.woke = false; isCrowded() {
				yield() // it may be waiting for this core
			}
		}
		if w.busy || !next.After(sends) {
			now = clock.Now()
			w.ep.Ended(now)
			idle.work(now)
			continue
		}
		now = idle.wait(idle.rest(now, w.ep.Loop().ExpectsResponse(now)), clock, now, next)
	}
	w.end()
}

// round polls the endpoint once and handles the mailbox. It returns the time of sending and the
// time at which the endpoint next has something to do.
func (w *worker) round(now units.Time, clock func() units.Time) (sends, next units.Time) {
	w.busy = false
	sends = now
	if w.ep.Loop().Receive(now) > 0 || w.busy {
		sends = clock()
	}
	next = w.ep.Loop().Transmit(sends)
	if len(w.mailbox) > 0 {
		w.open()
		w.busy = true
	}
	if len(w.due) > 0 {
		w.busy = true
	}
	if a := w.ep.Loop().Activity(); a != w.activity {
		w.activity, w.busy = a, true
	}
	if w.port != nil && w.port.Passed() != w.passed {
		w.passed, w.busy = w.port.Passed(), true
	}
	return sends, next
}

// end runs when the polling loop has stopped.
func (w *worker) end() {
	w.open()
	for _, p := range w.programs {
		close(p.ended)
	}
	for c := range w.conns {
		c.setFailed(ErrClosed)
		c.destroy()
	}
	w.closed.Store(true)
	w.refuse()
	w.ep.Close()
}

// step handles the completions and requests of connections and runs the programs, once.
func (w *worker) step(now units.Time) {
	w.now = now
	if !now.Before(w.probes) {
		w.probeQuiet(now)
	}
	w.reap()
	for range w.requests.Cap() {
		if !w.requests.Take(&w.request) {
			break
		}
		w.busy = true
		w.handle(&w.request)
	}
	for i := 0; i < len(w.programs); i++ {
		did, done := w.programs[i].Step(w.ep, now)
		w.busy = w.busy || did
		if done {
			close(w.programs[i].ended)
			w.programs = append(w.programs[:i], w.programs[i+1:]...)
			i--
		}
	}
}

// reap handles the completions of connections.
func (w *worker) reap() {
	for i := 0; i < len(w.due); i++ {
		w.due[i].reap()
		w.due[i] = nil
		w.busy = true
	}
	w.due = w.due[:0]
}

// open runs the calls in the mailbox.
func (w *worker) open() {
	for {
		select {
		case f := <-w.mailbox:
			f(w.ep)
		default:
			return
		}
	}
}

// post puts a call into the mailbox and does not wait for its completion.
func (w *worker) post(f func(*transport.Endpoint)) error {
	select {
	case <-w.ended:
		return ErrClosed
	default:
	}
	select {
	case w.mailbox <- f:
		w.doze.wake()
		return nil
	case <-w.ended:
		return ErrClosed
	}
}

// isCurrent reports whether the caller runs on this polling core.
func (w *worker) isCurrent() bool { return w.tid.Load() == int64(unix.Gettid()) }

// submit gives the polling core a request of a connection. It does not wait for its execution, and
// only while requestDepth others are ahead for their handling.
func (w *worker) submit(r *request) error {
	for pause := time.Duration(0); !w.requests.Put(r); pause += 100 * time.Nanosecond {
		switch {
		case w.closed.Load():
			return ErrClosed
		case w.isCurrent():
			return ErrOnCore
		case pause < 10*time.Microsecond:
			runtime.Gosched()
		default:
			time.Sleep(min(pause, time.Millisecond))
		}
	}
	w.doze.wake()
	if w.closed.Load() {
		w.refuse()
	}
	return nil
}

// hasRequests reports whether another goroutine wants something of this core.
func (w *worker) hasRequests() bool { return w.requests.Len() > 0 || len(w.mailbox) > 0 }

// hasWork reports whether the core must not sleep.
func (w *worker) hasWork() bool {
	if w.hasRequests() {
		return true
	}
	for i := range w.programs {
		if p := w.programs[i].waker; p != nil && p.HasWork() {
			return true
		}
	}
	return false
}

// refuse ends the requests that came too late: each connection has been destroyed.
func (w *worker) refuse() {
	for r := (request{}); w.requests.Take(&r); {
		w.handle(&r)
	}
}

// do runs f on the polling core and waits until it returns.
func (w *worker) do(f func(*transport.Endpoint)) error {
	if w.isCurrent() {
		return ErrOnCore
	}
	done := make(chan struct{})
	if err := w.post(func(ep *transport.Endpoint) { f(ep); close(done) }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-w.ended:
		select {
		case <-done:
			return nil
		default:
			return ErrClosed
		}
	}
}

func (w *worker) run(p Program) (<-chan struct{}, error) {
	ended := make(chan struct{})
	waker, _ := p.(Waker)
	return ended, w.do(func(*transport.Endpoint) {
		w.programs = append(w.programs, program{p, waker, ended})
	})
}

func (w *worker) stop() {
	w.halt.Store(true)
	<-w.ended
}
