package goroce

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// byteOrder is that of the results of atomics.
var byteOrder = binary.NativeEndian

// Request is an operation for Conn.Post.
type Request struct {
	// Op is OpSend, OpSendImm, OpWrite, OpWriteImm, OpRead, OpCmpSwap or OpFetchAdd of package
	// transport.
	Op     transport.Op
	ID     uint64 // returned in the Completion
	Local  Local  // source of SEND and WRITE, destination of READ
	Remote Remote // of WRITE, READ and atomics
	Imm    uint32 // immediate data of OpSendImm and OpWriteImm
	// Compare and Swap are operands of OpCmpSwap, Add of OpFetchAdd.
	Compare, Swap, Add uint64
}

// Post begins an operation and does not wait. Its completion comes to q. The local memory must not
// change until then. Operations of a connection are executed in the order in which they are posted,
// and complete in that order; a READ's data may arrive after a later WRITE is executed.
//
// Post returns an error, and no completion comes, if the operation is not possible, if the
// connection has ended, or with transport.ErrQueueFull if q has no place.
func (c *Conn) Post(q *Completions, r Request) error {
	var s request
	err := c.prepare(&s, &r)
	if err == nil && !q.reserve() {
		err = fmt.Errorf("all %d places of the Completions are taken: %w", q.capacity,
			transport.ErrQueueFull)
	}
	if err != nil {
		return c.refusal(r.Op, err)
	}
	s.completions = q
	if err := c.start(&s, r.Local.memory); err != nil {
		q.release()
		return err
	}
	return nil
}

// Write copies local memory to remote memory (RDMA WRITE), and waits until the peer has
// acknowledged it. If ctx ends first, Write returns, and the operation is withdrawn if it is not in
// the send queue (OpError.Withdrawn). The same holds for the other operations.
func (c *Conn) Write(ctx context.Context, local Local, remote Remote) error {
	_, err := c.do(ctx, &Request{Op: transport.OpWrite, Local: local, Remote: remote})
	return err
}

// WriteImm is Write, at whose end the peer receives an empty message with immediate data
// (Message.Written).
func (c *Conn) WriteImm(ctx context.Context, local Local, remote Remote, imm uint32) error {
	_, err := c.do(ctx, &Request{Op: transport.OpWriteImm, Local: local, Remote: remote, Imm: imm})
	return err
}

// Read copies remote memory to local memory (RDMA READ).
func (c *Conn) Read(ctx context.Context, local Local, remote Remote) error {
	_, err := c.do(ctx, &Request{Op: transport.OpRead, Local: local, Remote: remote})
	return err
}

// FetchAdd adds to 8 bytes of remote memory, a number in the peer's byte order, atomically with
// respect to all operations of the peer's endpoint, and returns what they were before. The address
// must be a multiple of 8.
func (c *Conn) FetchAdd(ctx context.Context, remote Remote, add uint64) (uint64, error) {
	return c.do(ctx, &Request{Op: transport.OpFetchAdd, Remote: remote, Add: add})
}

// CompareSwap sets 8 bytes of remote memory to swap if they equal compare, atomically as FetchAdd
// does, and returns what they were before.
func (c *Conn) CompareSwap(ctx context.Context, remote Remote,
	compare, swap uint64) (uint64, error) {
	return c.do(ctx, &Request{Op: transport.OpCmpSwap, Remote: remote, Compare: compare,
		Swap: swap})
}

// do executes an operation and waits for its end.
func (c *Conn) do(ctx context.Context, r *Request) (uint64, error) {
	var s request
	err := ctx.Err()
	if err == nil {
		err = c.prepare(&s, r)
	}
	if err != nil {
		return 0, c.refusal(r.Op, err)
	}
	k := calls.Get().(*call)
	k.state.Store(0)
	s.call = k
	if err := c.start(&s, r.Local.memory); err != nil {
		calls.Put(k)
		return 0, err
	}
	value, err := k.wait(ctx, spinTime(c.spin))
	if a, is := err.(abandonedError); is {
		e := c.refusal(r.Op, a.error)
		e.Withdrawn = a.withdrawn
		return 0, e
	}
	calls.Put(k)
	return value, err
}

// prepare checks an operation and translates it.
func (c *Conn) prepare(s *request, r *Request) error {
	if r.Op >= transport.OpRead && r.Op <= transport.OpFetchAdd && !c.peerReads {
		return fmt.Errorf("the peer accepts no READs and atomics: %w", transport.ErrInvalid)
	}
	*s = request{conn: c, op: r.Op, tag: untagged, imm: r.Imm, remoteAddr: r.Remote.Addr,
		rkey: r.Remote.Key, compare: r.Compare, swap: r.Swap}
	s.id = r.ID
	switch r.Op {
	case transport.OpSend, transport.OpSendImm:
		if r.Local.n > int(MaxMessage) {
			return fmt.Errorf("message of %d bytes, want at most %d: %w", r.Local.n,
				int64(MaxMessage), transport.ErrInvalid)
		}
	case transport.OpWrite, transport.OpWriteImm, transport.OpRead:
		if err := r.Remote.check(c, r.Local.n); err != nil {
			return err
		}
	case transport.OpFetchAdd, transport.OpCmpSwap:
		if r.Op == transport.OpFetchAdd {
			s.compare = r.Add
		}
		if err := r.Remote.check(c, 8); err != nil {
			return err
		}
		if r.Remote.Addr%8 != 0 {
			return fmt.Errorf("an atomic at address %#x, want a multiple of 8: %w", r.Remote.Addr,
				transport.ErrInvalid)
		}
		return nil
	default:
		return fmt.Errorf("a Conn does SEND, WRITE, READ and atomics: %w", transport.ErrInvalid)
	}
	if err := r.Local.check(c); err != nil {
		return err
	}
	if r.Local.n > 0 {
		s.local = r.Local.memory.mr.SGE(r.Local.offset, r.Local.n)
	}
	return nil
}

// start hands an operation to the polling core.
func (c *Conn) start(s *request, m *Memory) error {
	if s.op >= transport.OpCmpSwap {
		m = nil // its result has memory of its own
	}
	if m != nil && !m.acquire() {
		return c.refusal(s.op, fmt.Errorf("the local memory has been deregistered: %w",
			transport.ErrInvalid))
	}
	s.memory = m
	err := error(nil)
	if !c.begin() {
		err = c.ended()
	} else if err = c.w.submit(s); err == nil {
		return nil
	}
	if m != nil {
		m.release()
	}
	return c.refusal(s.op, err)
}

// refusal is the error of an operation that did not begin.
func (c *Conn) refusal(op transport.Op, err error) *OpError {
	return &OpError{Op: op, Peer: c.peer, Withdrawn: true, Err: err}
}
