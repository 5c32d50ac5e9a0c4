package goroce

import (
	"fmt"

	"github.com/goroce/goroce/transport"
)

// request is what a goroutine asks of a connection's polling core.
type request struct {
	conn *Conn
	kind requestKind
	op   transport.Op
	tag  int32 // for usage.sent or usage.serve; untagged if there is none

	local         transport.SGE
	remoteAddr    uint64
	rkey, imm     uint32
	compare, swap uint64

	target
}

// requestKind distinguishes operations from the other requests.
type requestKind uint8

const (
	operation requestKind = iota
	own                   // of the usage, with the tag
	endOfConn             // the connection has failed
)

const untagged = -1

// target is where the outcome of an operation goes. It has a call, or Completions, or neither.
type target struct {
	id          uint64
	memory      *Memory // in use until then
	call        *call
	completions *Completions
}

// pending is an operation in the send queue.
type pending struct {
	op  transport.Op
	tag int32
	target
}

// handle executes a request. It runs on the polling core.
func (w *worker) handle(r *request) {
	c := r.conn
	switch r.kind {
	case own:
		if !c.destroyed {
			c.use.serve(r.tag)
		}
	case endOfConn:
		if !c.destroyed {
			_ = c.qp.Modify(transport.Errored, transport.QPAttr{})
		}
	case operation:
		switch {
		case c.destroyed:
			c.finish(&r.target, r.op, r.tag, 0, c.opError(r.op, 0, true, c.ended()))
		case c.waiting.Len() > 0 || c.posted.Len() == sendDepth:
			*c.waiting.Add() = *r
		default:
			c.issue(r)
		}
		c.signalFilled() // what could not be posted
	}
}

// issue posts an operation, for which there is room.
func (c *Conn) issue(r *request) {
	if r.call != nil && !r.call.post() {
		c.withdraw(r, nil)
		return
	}
	wr, sge := &c.w.wr, &c.w.sge
	*wr = transport.WorkRequest{Op: r.op, SGList: sge[:], Imm: r.imm, RemoteAddr: r.remoteAddr,
		RKey: r.rkey, CompareAdd: r.compare, Swap: r.swap}
	sge[0] = r.local
	if r.op >= transport.OpCmpSwap {
		sge[0] = c.results.SGE(int(c.postings%sendDepth)*8, 8)
	} else if r.local.Length == 0 {
		wr.SGList = nil
	}
	if err := c.qp.PostSend(wr); err != nil {
		c.withdraw(r, err)
		return
	}
	c.postings++
	*c.posted.Add() = pending{r.op, r.tag, r.target}
}

// withdraw ends an operation that was not posted.
func (c *Conn) withdraw(r *request, err error) {
	c.finish(&r.target, r.op, r.tag, 0, c.opError(r.op, 0, true, err))
	c.finished(1)
}

// onCompletion is called by the endpoint in the midst of its work. The completions are handled when
// that is done.
func (c *Conn) onCompletion(*transport.CompletionQueue) {
	if !c.due {
		c.due = true
		c.w.due = append(c.w.due, c)
	}
}

// reap handles completions of the queue pair.
func (c *Conn) reap() {
	c.due = false
	if c.destroyed {
		return
	}
	c.heard = c.w.now
	flushed := c.reapReceived()
	c.reapSent()
	c.signalFilled()
	if flushed && c.Err() == nil {
		c.setFailed(c.flushed())
	}
	c.use.reaped()
	c.sendCQ.RequestNotify(false)
	c.recvCQ.RequestNotify(false)
	if c.sendCQ.Len() > 0 { // operations that completed when they were posted
		c.onCompletion(nil)
	}
}

// flushed returns why the queue pair was moved to ERR, when no completion has the reason.
func (c *Conn) flushed() error {
	if c.control != nil {
		if err := c.control.ended(); err != nil {
			return err
		}
	}
	return fmt.Errorf("goroce: connection to %v: queue pair in state %v", c.peer, c.qp.State())
}

// reapSent handles completions of the send queue, which come in the order of posting.
func (c *Conn) reapSent() {
	var wcs [16]transport.WorkCompletion
	done := uint64(0)
	for n := len(wcs); n == len(wcs); {
		n = c.sendCQ.Poll(wcs[:])
		for i := range n {
			p := c.posted.Front()
			if wcs[i].Status == transport.StatusSuccess {
				done++
				c.finish(&p.target, p.op, p.tag, c.result(p.op), nil)
			} else {
				c.lose(p, wcs[i].Status)
			}
			c.posted.Remove()
		}
		for c.waiting.Len() > 0 && c.posted.Len() < sendDepth {
			c.issue(c.waiting.Front())
			c.waiting.Remove()
		}
	}
	c.finished(done)
}

// result returns the result of the oldest operation in the send queue.
func (c *Conn) result(op transport.Op) uint64 {
	if op < transport.OpCmpSwap {
		return 0
	}
	at := (c.postings - uint64(c.posted.Len())) % sendDepth * 8
	return byteOrder.Uint64(c.results.Bytes()[at:])
}

// lose ends an operation that failed, and with it the connection.
func (c *Conn) lose(p *pending, s transport.Status) {
	var cause error
	if s == transport.StatusWRFlushErr {
		cause = c.Err()
	} else {
		c.setFailed(fmt.Errorf("goroce: connection to %v: %w", c.peer, s))
	}
	c.finish(&p.target, p.op, p.tag, 0, c.opError(p.op, s, false, cause))
}

// reapReceived handles completions of the receive queue. It reports whether a receive was flushed.
func (c *Conn) reapReceived() (flushed bool) {
	wcs := &c.w.received // the calls of received would make a local array escape
	for n := len(wcs); n == len(wcs); {
		n = c.recvCQ.Poll(wcs[:])
		for i := range n {
			switch wc := &wcs[i]; wc.Status {
			case transport.StatusSuccess:
				c.use.received(wc)
			case transport.StatusWRFlushErr:
				flushed = true
			default:
				c.setFailed(fmt.Errorf("goroce: connection to %v: receive: %w", c.peer, wc.Status))
			}
		}
	}
	return flushed
}

// finish delivers the outcome of an operation. It runs on the polling core.
func (c *Conn) finish(t *target, op transport.Op, tag int32, value uint64, err error) {
	if t.memory != nil {
		t.memory.release()
	}
	if tag != untagged {
		c.use.sent(tag, err == nil)
	}
	switch {
	case t.call != nil:
		c.woke(t.call.finish(value, err))
	case t.completions != nil:
		if c.filled != t.completions {
			c.signalFilled()
			c.filled = t.completions
		}
		c.filled.done.values.Put(&Completion{ID: t.id, Conn: c, Op: op, Value: value, Err: err})
	}
}

// signalFilled wakes who waits for the Completions that got some: once for all of a round, because
// a wake-up costs more than a completion.
func (c *Conn) signalFilled() {
	if c.filled != nil {
		c.woke(c.filled.done.signal())
		c.filled = nil
	}
}

// woke records that a goroutine has been woken.
func (c *Conn) woke(yes bool) { c.w.woke = c.w.woke || yes }

// opError describes an operation that failed.
func (c *Conn) opError(op transport.Op, s transport.Status, withdrawn bool, cause error) error {
	e := &OpError{Op: op, Peer: c.peer, Status: s, Withdrawn: withdrawn, Err: cause}
	if c.qp != nil {
		e.State = c.qp.State()
	}
	return e
}

// destroy ends what has not completed, and destroys the queue pair and its memory regions.
func (c *Conn) destroy() {
	if c.destroyed {
		return
	}
	c.destroyed = true
	defer c.signalFilled()
	delete(c.w.conns, c)
	why := c.ended()
	for ; c.posted.Len() > 0; c.posted.Remove() {
		p := c.posted.Front()
		c.finish(&p.target, p.op, p.tag, 0, c.opError(p.op, 0, false, why))
	}
	for ; c.waiting.Len() > 0; c.waiting.Remove() {
		r := c.waiting.Front()
		c.finish(&r.target, r.op, r.tag, 0, c.opError(r.op, 0, true, why))
	}
	if c.qp != nil {
		c.qp.Destroy()
	}
	for m := range c.memories {
		m.mr.Deregister()
	}
	clear(c.memories)
	if c.results != nil {
		c.results.Deregister()
	}
	c.use.destroy()
	for _, cq := range []*transport.CompletionQueue{c.sendCQ, c.recvCQ} {
		if cq != nil {
			_ = cq.Destroy() // its queue pair is gone
		}
	}
	if c.pd != nil {
		_ = c.pd.Dealloc() // everything in it is gone
	}
}
