package transport

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// verbErrors are the errors that errors of verbs wrap.
var verbErrors = []error{ErrInvalid, ErrState, ErrQueueFull, ErrLimit, ErrBusy,
	errors.ErrUnsupported,
	neigh.ErrNoRoute, neigh.ErrAddress, wire.ErrAddress}

// refused checks the error of a verb that must refuse: it wraps want, or any of verbErrors if want
// is nil.
func (w *verbsWorld) refused(err, want error) {
	w.t.Helper()
	require.Error(w.t, err)
	if want != nil {
		require.ErrorIs(w.t, err, want)
	}
	known := false
	for _, e := range verbErrors {
		known = known || errors.Is(err, e) && len(err.Error()) > len("transport: : ")+len(e.Error())
	}
	require.True(w.t, known, "%q does not say what is wrong", err)
}

// checkChanges checks what has changed since the last time: after each operation, and each round.
func (w *verbsWorld) checkChanges() {
	for _, h := range w.hosts {
		for _, c := range h.cqs {
			if c.overrun {
				h.overran(c)
			}
		}
		for _, q := range h.qps {
			q.checkState()
		}
		for _, c := range h.cqs {
			h.checkCompletions(c)
		}
		for ev, ok := h.ep.PollAsync(); ok; ev, ok = h.ep.PollAsync() {
			h.event(ev)
		}
		for _, q := range h.qps {
			if !q.destroyed && q.failedAt > 0 && h.polls > q.failedAt && !q.reported {
				w.t.Fatalf("QP %#x failed without an event", q.num())
			}
		}
		for _, r := range h.regions {
			if !r.destroyed && !r.Valid() {
				require.NotZero(w.t, r.access&RemoteInvalidate,
					"a peer ended a region that it may not end")
				r.ended()
			}
		}
	}
}

func (q *verbsQP) num() uint32 { return uint32(q.Num) }

// overran records that completions of a queue were lost.
func (h *verbsHost) overran(c *verbsCQ) {
	for _, q := range h.qps {
		if !q.destroyed && (q.sendCQ == c || q.recvCQ == c) {
			q.life.lossy = true
			if q.srq != nil {
				q.srq.lossy = true
			}
		}
	}
}

// checkState compares the state with the model's. By itself a queue pair only fails, which an event
// reports within a round.
func (q *verbsQP) checkState() {
	if q.destroyed {
		return
	}
	if q.State() != Errored { // then the next round may have to flush it first
		q.checkQueue()
	}
	if q.state == q.State() {
		return
	}
	if q.State() == SQErrored {
		require.NotEqual(q.host.t, RC, q.Type)
		require.Contains(q.host.t, []State{ReadyToSend, SQDrained}, q.state)
		q.state = SQErrored
		return
	}
	require.Equal(q.host.t, Errored, q.State(), "QP %#x was in %v", q.num(), q.state)
	require.NotEqual(q.host.t, Reset, q.state)
	q.state, q.failedAt = Errored, q.host.polls+1
}

// checkQueue checks that the requester's state of its send queue is consistent.
func (q *verbsQP) checkQueue() {
	r, reads := &q.snd, q.snd.cold().reads
	n := r.posted - r.done
	if int(n) > q.init.MaxSendWR || r.begun-r.done > n || r.next-r.done > n {
		q.host.t.Fatalf("%v QP %#x: of %d requests done %d, begun %d, next %d", q.Type, q.num(),
			r.posted, r.done, r.begun, r.next)
	}
	bytes := units.Bytes(0)
	for i := r.done; i != r.posted; i++ {
		bytes += units.Bytes(r.at(i).length)
	}
	posted, flight := r.cold().pending, q.loss.inFlight
	if bytes != posted || flight < 0 || reads != nil && int(reads.n) > len(reads.ends) {
		q.host.t.Fatalf("%v QP %#x: %d bytes are posted, it has %d, %d in flight, %v READs", q.Type,
			q.num(), bytes, posted, flight, reads)
	}
}

// checkCompletions checks the completions that were added to a queue.
func (h *verbsHost) checkCompletions(c *verbsCQ) {
	for ; c.checked != c.tail; c.checked++ {
		wc := c.ring[c.checked&uint32(len(c.ring)-1)]
		c.seen = append(c.seen, wc)
		h.completed(c, &wc)
	}
	if c.destroyed {
		c.seen = nil
	}
	if len(c.seen) > c.depth {
		h.t.Fatalf("%d completions in a queue for %d", len(c.seen), c.depth)
	}
}

// completed checks a completion.
func (h *verbsHost) completed(c *verbsCQ, wc *WorkCompletion) {
	t, p, q := h.t, h.posts[wc.ID], h.numbers[wc.QPN]
	require.NotNil(t, p, "completion of a request that was not accepted: %+v", wc)
	require.False(t, p.done,
		"a request completed twice, or after its queue pair was reset or destroyed: %+v", wc)
	require.NotNil(t, q, "completion of no queue pair: %+v", wc)
	require.False(t, q.destroyed, "completion of a queue pair that is destroyed: %+v", wc)
	p.status = wc.Status
	if p.recv {
		require.Same(t, q.recvCQ, c)
		h.received(q, p, wc)
	} else {
		require.Same(t, q.sendCQ, c)
		require.Same(t, q.life, p.life)
		h.sent(q.life, p, wc)
	}
	p.end()
}

// sent checks the completion of a send queue.
func (h *verbsHost) sent(life *verbsLife, p *verbsPost, wc *WorkCompletion) {
	t := h.t
	if h.cancelling != nil && h.cancelling.life == life {
		require.Equal(t, StatusWRFlushErr, wc.Status)
		p.cancelled = true
		return
	}
	if wc.Status != StatusSuccess {
		h.failed(life, p, wc)
		return
	}
	h.skip(life, p)
	require.False(t, life.failed && !life.lossy, "request %d succeeded after another failed", p.id)
	require.True(t, p.signaled, "request %d was not signaled", p.id)
	require.Equal(t, p.op, wc.Op)
	if p.op.hasResponse() {
		require.EqualValues(t, p.length, wc.ByteLen)
	}
	if life.qp.Type == RC && p.target != nil && p.length > 0 && p.op >= OpWrite {
		h.allowed(life, p)
	}
	if p.op == OpRead && p.area != nil && p.data != nil {
		require.True(t, p.area.holds(p.data), "READ %d returned other data", p.id)
	}
}

// allowed checks that the peer was right to execute a request.
func (h *verbsHost) allowed(life *verbsLife, p *verbsPost) {
	t, r := h.t, p.target
	need := RemoteWrite
	if p.op == OpRead {
		need = RemoteRead
	} else if p.op.isAtomic() {
		need = RemoteAtomic
	}
	require.Equal(t, need, need&r.access, "%v where it is not allowed", p.op)
	require.True(t, p.within(), "%v out of bounds", p.op)
	if life.peer != nil {
		require.Equal(t, need, need&life.peer.access,
			"%v through a queue pair that does not allow it",
			p.op)
		require.Same(t, r.domain, life.peer.qp.pd, "%v in another protection domain", p.op)
	}
}

// failed checks that requests fail in order, and that all except one are flushed: the first, unless
// its own memory was wrong, which is detected while older ones are in flight.
func (h *verbsHost) failed(life *verbsLife, p *verbsPost, wc *WorkCompletion) {
	t := h.t
	h.skip(life, p)
	require.NotEmpty(t, wc.Status.String())
	if wc.Status != StatusWRFlushErr {
		require.True(t, life.lossy || !life.reported,
			"request %d is the second that failed by itself", p.id)
		require.True(t, !life.failed || life.lossy || wc.Status == StatusLocProtErr,
			"%+v after a flush", wc)
		life.reported = true
	}
	require.GreaterOrEqual(t, life.qp.State(), SQErrored, "a request failed: %+v", wc)
	if life.peer != nil {
		require.NotEqual(t, StatusBadRespErr, wc.Status, "the peer's response was wrong")
	}
	life.failed = true
}

// skip checks that the requests before p that have not completed need not complete.
func (h *verbsHost) skip(life *verbsLife, p *verbsPost) {
	i := life.ended
	for ; i < len(life.sends) && life.sends[i] != p; i++ {
		before := life.sends[i]
		require.True(h.t, before.done || life.lossy || !before.signaled && !life.failed,
			"request %d ended before %d", p.id, before.id)
	}
	if i == len(life.sends) {
		require.True(h.t, life.lossy || life.sends[i-1].done, "request %d ended after a later one",
			p.id)
		return
	}
	life.ended = i + 1
}

// received checks the completion of a receive.
func (h *verbsHost) received(q *verbsQP, p *verbsPost, wc *WorkCompletion) {
	t, life := h.t, q.life
	if p.srq != nil {
		require.Same(t, q.srq, p.srq)
		h.consume(q, p)
	} else {
		require.Same(t, life, p.life)
		i := 0
		for life.lossy && life.recvs[i] != p {
			i++
		}
		require.Same(t, p, life.recvs[i], "receive %d ended before %d", p.id, life.recvs[i].id)
		life.recvs = life.recvs[i+1:]
	}
	switch wc.Status {
	case StatusSuccess:
		h.arrived(q, p, wc)
	case StatusWRFlushErr:
		require.Equal(t, Errored, q.State(), "%+v", wc)
	default:
		require.Contains(t, []Status{StatusLocLenErr, StatusLocProtErr}, wc.Status)
	}
}

// consume removes a receive from a shared queue.
func (h *verbsHost) consume(q *verbsQP, p *verbsPost) {
	for i, x := range p.srq.posted {
		if x == p {
			p.srq.posted = append(p.srq.posted[:i:i], p.srq.posted[i+1:]...)
			return
		}
	}
	require.Fail(h.t, "a receive that is in no queue", "%d of QP %#x", p.id, q.num())
}

// arrived checks the contents of a receive.
func (h *verbsHost) arrived(q *verbsQP, p *verbsPost, wc *WorkCompletion) {
	t, life := h.t, q.life
	var sent *verbsPost
	switch {
	case q.Type == RC && life.peer != nil:
		sent = life.peer.message(life.got)
		life.got++
		require.NotNil(t, sent, "a message that was not sent: %+v", wc)
	case q.Type == UD:
		require.GreaterOrEqual(t, wc.ByteLen, uint32(wire.GRHLen))
		require.True(t, wc.WithGRH)
		return
	default:
		return
	}
	switch sent.op {
	case OpWriteImm:
		require.Equal(t, OpRecvWriteImm, wc.Op)
	default:
		require.Equal(t, OpRecv, wc.Op)
	}
	require.Equal(t, sent.op == OpSendImm || sent.op == OpWriteImm, wc.WithImm)
	require.Equal(t, sent.op == OpSendInv, wc.WithInv)
	require.False(t, wc.WithGRH)
	if wc.WithImm || wc.WithInv {
		require.Equal(t, sent.imm, wc.Imm)
	}
	require.EqualValues(t, sent.length, wc.ByteLen, "%+v", wc)
	switch {
	case p.area == nil:
	case sent.op == OpWriteImm:
		require.True(t, p.area.holds(nil), "a WRITE wrote to its receive")
	case sent.data != nil:
		require.True(t, p.area.holds(sent.data), "message %d arrived with other data", sent.id)
	}
}

// message returns the n-th request of a life that consumes a receive of the peer.
func (l *verbsLife) message(n int) *verbsPost {
	for _, p := range l.sends {
		if !p.op.completes() || p.cancelled {
			continue
		}
		if n == 0 {
			return p
		}
		n--
	}
	return nil
}

// event checks an asynchronous event.
func (h *verbsHost) event(ev AsyncEvent) {
	t := h.t
	require.NotContains(t, ev.Kind.String(), "AsyncKind")
	switch ev.Kind {
	case AsyncSRQLimit:
		i := 0
		for h.srqs[i].SharedReceiveQueue != ev.SRQ {
			i++
		}
		require.Positive(t, h.srqs[i].armed, "a limit that was not armed, or was reported twice")
		h.srqs[i].armed = 0
		return
	case AsyncCQError:
		require.True(t, ev.CQ.overrun)
		return
	}
	q := h.numbers[ev.QP.Num]
	require.Same(t, q.QueuePair, ev.QP)
	require.False(t, q.destroyed, "%v of a queue pair that is destroyed", ev.Kind)
	switch ev.Kind {
	case AsyncQPFatal, AsyncQPReqErr, AsyncQPAccessErr:
		require.Equal(t, Errored, ev.QP.State())
		require.False(t, q.reported, "%v: it was reported before", ev.Kind)
		q.reported = true
	case AsyncLastWQEReached:
		require.NotNil(t, q.srq)
		require.Equal(t, Errored, ev.QP.State())
	case AsyncSQDrained:
		require.NotContains(t, []State{Reset, Init, ReadyToReceive}, q.state)
		q.draining = false
	}
}

// finish repairs the link, lets time pass until everything should have ended, and destroys all
// objects.
func (w *verbsWorld) finish() {
	w.losses = 0
	for _, h := range w.hosts {
		h.link.noAlloc, h.link.room = false, 0
	}
	w.advance(3 * units.Second)
	settled := w.steps < verbsMaxSteps
	w.steps = 0
	for _, h := range w.hosts {
		for _, q := range h.qps {
			if q.destroyed {
				continue
			}
			if settled && q.state == ReadyToSend && q.life.bounded &&
				q.life.peer == q.life.peerNow() {
				require.Equal(w.t, q.init.MaxSendWR, q.SendRoom(),
					"%v QP %#x of %s still has requests",
					q.Type, q.num(), h.name)
			}
			if r := &q.loss; settled && q.state == SQDrained && q.draining {
				require.NotEqual(w.t, r.una, r.sndMax,
					"%v QP %#x of %s has drained without an event",
					q.Type, q.num(), h.name)
			}
			if q.state != Reset {
				q.die()
			}
		}
	}
	w.advance(10 * units.Microsecond)
	for _, h := range w.hosts {
		h.takeDown()
	}
	w.advance(units.Second)
	for _, h := range w.hosts {
		h.checkEmpty()
	}
	w.conserved()
}

// peerNow returns the peer if it has not been reset since the two were connected.
func (l *verbsLife) peerNow() *verbsLife {
	if l.peer == nil {
		return nil
	}
	return l.peer.qp.life
}

// takeDown destroys all objects, in an order in which none is in use.
func (h *verbsHost) takeDown() {
	for _, q := range h.qps {
		if !q.destroyed {
			if q.state == Errored {
				q.flushed()
			}
			q.destroy()
		}
	}
	h.checkChanges()
	for _, s := range h.srqs {
		if !s.destroyed {
			require.True(h.t, s.lossy || len(s.posted) == int(s.queue.len()),
				"%d receives of a shared queue are not accounted for",
				len(s.posted)-int(s.queue.len()))
			h.tryDestroySRQ(s)
		}
	}
	for _, r := range h.regions {
		if !r.destroyed {
			r.check()
			h.end(r)
		}
	}
	for _, a := range h.ahs {
		a.Destroy()
		a.destroyed = true
	}
	for _, c := range h.cqs {
		if !c.destroyed {
			h.tryDestroyCQ(c)
		}
	}
	for _, pd := range h.pds {
		if !pd.destroyed {
			h.tryDealloc(pd)
			require.True(h.t, pd.destroyed)
		}
	}
}

// checkEmpty checks that an endpoint without objects keeps nothing.
func (h *verbsHost) checkEmpty() {
	t, e := h.t, h.ep
	for _, r := range h.regions {
		r.check()
	}
	for id, p := range h.posts {
		require.True(t, p.done || !p.recv && p.area == nil || p.life != nil && p.life.lossy ||
			p.srq != nil && p.srq.lossy, "request %d", id)
	}
	_, timer := e.timers.Next()
	require.False(t, timer, "a timer is left")
	require.Zero(t, e.qps.count+e.regions.count)
	held := e.Stats().Holdings
	require.Zero(t, held.Buffers+held.Gaps+held.Recoveries)
	require.Zero(t,
		e.ackEchoes.inUse+e.sendTimes.inUse+e.probers.inUse+e.telemetries.inUse+e.bolts.inUse)
	for shape, queues := range e.sendQueues {
		require.Zero(t, queues.inUse, "%+v", shape)
	}
	for i := range e.serviceLists {
		require.Nil(t, e.serviceLists[i].head)
	}
	require.False(t, e.Loop().IsBusy())
	for _, c := range h.cqs {
		require.Zero(t, c.users)
	}
	for _, pd := range h.pds {
		require.Zero(t, pd.users)
	}
}
