package goroce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// MaxMessage is the longest message of a Conn. For longer transfers, use a stream, WRITE or READ.
const MaxMessage = 64 * units.KiB

// slots is how many messages a Conn buffers in each direction.
const slots = 64

// messages is the use of a connection for messages: buffers in slots, each of which holds one
// message that was sent and is not acknowledged, or received and not read.
type messages struct {
	conn    *Conn
	memory  [2][]byte // of out and in
	out, in *transport.MemoryRegion
	free    waitQueue[int32]   // unused slots of out
	inbox   waitQueue[arrival] // received messages
	// views counts, for each slot of in, how often a message in it was received by reference and
	// released: odd while a program holds one.
	views [slots]atomic.Uint32
}

// arrival is a received message. slot is where it lies, or whose receive its WRITE consumed.
type arrival struct {
	slot            int32
	withImm, writes bool
	n, imm          uint32
}

func newMessages(c *Conn) *messages {
	return &messages{conn: c, free: newWaitQueue[int32](slots), inbox: newWaitQueue[arrival](slots)}
}

func (m *messages) receives() int { return slots }

func (m *messages) allocate() {
	for i := range m.memory {
		m.memory[i] = make([]byte, slots*MaxMessage)
	}
}

func (m *messages) create(ep *transport.Endpoint) error {
	c := m.conn
	var err error
	if m.out, err = ep.RegisterMemory(c.pd, m.memory[0], 0); err != nil {
		return err
	}
	if m.in, err = ep.RegisterMemory(c.pd, m.memory[1], transport.LocalWrite); err != nil {
		return err
	}
	for i := range int32(slots) {
		m.free.put(&i)
		if err := m.post(int(i)); err != nil {
			return err
		}
	}
	return nil
}

func (m *messages) post(slot int) error {
	return m.conn.qp.PostRecv(&transport.RecvRequest{ID: uint64(slot),
		SGList: []transport.SGE{m.in.SGE(slot*int(MaxMessage), int(MaxMessage))}})
}

// serve posts the receive of a slot again. The queue has room for every slot.
func (m *messages) serve(slot int32) { _ = m.post(int(slot)) }

// describe adds nothing: a Hello without a kind is of a connection for messages.
func (m *messages) describe(*connect.Hello) {}

func (m *messages) meet(theirs *connect.Hello) error {
	if kind := theirs.Settings[kindSetting]; kind != "" {
		return fmt.Errorf("the peer's connection is a %s, this side's is for messages: %w", kind,
			errKind)
	}
	return nil
}

func (m *messages) received(wc *transport.WorkCompletion) {
	m.conn.woke(m.inbox.put(&arrival{slot: int32(wc.ID), withImm: wc.WithImm,
		writes: wc.Op == transport.OpRecvWriteImm, n: wc.ByteLen, imm: wc.Imm}))
}

func (m *messages) reaped() {}

func (m *messages) isDrained(unfinished uint64) bool { return unfinished == 0 }

func (m *messages) sent(slot int32, _ bool) { m.conn.woke(m.free.put(&slot)) }

func (m *messages) destroy() {
	for _, mr := range []*transport.MemoryRegion{m.in, m.out} {
		if mr != nil {
			mr.Deregister()
		}
	}
}

// Send queues a message of up to MaxMessage bytes. The caller may reuse p on return. Send blocks
// while all of the connection's slots are in flight.
func (c *Conn) Send(ctx context.Context, p []byte) error {
	return c.messages.send(ctx, p, &request{op: transport.OpSend})
}

// SendMsg is Send with immediate data: 32 bits that the peer's RecvMsg returns beside the message.
func (c *Conn) SendMsg(ctx context.Context, p []byte, imm uint32) error {
	return c.messages.send(ctx, p, &request{op: transport.OpSendImm, imm: imm})
}

func (m *messages) send(ctx context.Context, p []byte, r *request) error {
	c := m.conn
	if len(p) > int(MaxMessage) {
		return fmt.Errorf("goroce: send: message of %d bytes, want at most %d: %w", len(p),
			int64(MaxMessage), transport.ErrInvalid)
	}
	if err := c.Err(); err != nil {
		return err
	}
	var slot int32
	switch err := m.free.take(ctx, c.failed, spinTime(c.spin), &slot); {
	case errors.Is(err, errEnded):
		return c.ended()
	case err != nil:
		return err
	}
	at := int(slot) * int(MaxMessage)
	copy(m.out.Bytes()[at:], p)
	if !c.begin() {
		return c.ended()
	}
	r.conn, r.tag, r.local = c, slot, m.out.SGE(at, len(p))
	return c.w.submit(r)
}

// Message describes a received message.
type Message struct {
	Len     int
	Imm     uint32 // immediate data
	WithImm bool   // whether there is any
	// Written reports whether this is the end of the peer's WriteImm: it has written Len bytes into
	// memory of this side, and the message itself is empty.
	Written bool

	conn *Conn
	slot int32
	view uint32
}

// Recv waits for the next message, copies it to p and returns its length. A message longer than p
// is truncated and the error is io.ErrShortBuffer. After the peer has closed and all messages were
// read the error is io.EOF; after the peer has aborted it is a different error.
//
// A WriteImm of the peer is received as an empty message; use RecvMsg for its immediate data.
func (c *Conn) Recv(ctx context.Context, p []byte) (int, error) {
	m, err := c.RecvMsg(ctx, p)
	if m.Written {
		m.Len = 0
	}
	return min(m.Len, len(p)), err
}

// RecvMsg is Recv with all that is known about the message. With io.ErrShortBuffer its Len is that
// of the whole message.
func (c *Conn) RecvMsg(ctx context.Context, p []byte) (Message, error) {
	m := c.messages
	a, err := m.next(ctx)
	if err != nil {
		return Message{}, err
	}
	msg := Message{Len: int(a.n), Imm: a.imm, WithImm: a.withImm, Written: a.writes}
	n := 0
	if !a.writes {
		n = copy(p, m.bytes(a))
	}
	m.giveBack(a.slot)
	if !a.writes && n < msg.Len {
		return msg, io.ErrShortBuffer
	}
	return msg, nil
}

// RecvBuf is RecvMsg without a copy: Message.Bytes are those of the connection's own buffer, until
// Release. Of the connection's 64 receive buffers, those that are not released take no messages;
// without any the peer's messages wait.
func (c *Conn) RecvBuf(ctx context.Context) (Message, error) {
	m := c.messages
	a, err := m.next(ctx)
	if err != nil {
		return Message{}, err
	}
	return Message{Len: int(a.n), Imm: a.imm, WithImm: a.withImm, Written: a.writes,
		conn: c, slot: a.slot, view: m.views[a.slot].Add(1)}, nil
}

// next waits for a message.
func (m *messages) next(ctx context.Context) (arrival, error) {
	var a arrival
	err := m.inbox.take(ctx, m.conn.failed, spinTime(m.conn.spin), &a)
	if errors.Is(err, errEnded) {
		err = m.conn.ended()
	}
	return a, err
}

func (m *messages) bytes(a arrival) []byte {
	at := int(a.slot) * int(MaxMessage)
	return m.in.Bytes()[at : at+int(a.n)]
}

// giveBack makes a slot receive again.
func (m *messages) giveBack(slot int32) {
	_ = m.conn.w.submit(&request{conn: m.conn, kind: own, tag: slot}) // fails on a closed host
}

// Bytes returns a message of RecvBuf, until its Release.
func (m Message) Bytes() []byte {
	if m.conn == nil || m.Written || m.conn.views[m.slot].Load() != m.view {
		return nil
	}
	return m.conn.messages.bytes(arrival{slot: m.slot, n: uint32(m.Len)})
}

// Release returns the buffer of a message of RecvBuf to the connection. The bytes must not be used
// any more. A second call returns an error.
func (m Message) Release() error {
	if m.conn == nil || !m.conn.views[m.slot].CompareAndSwap(m.view, m.view+1) {
		return fmt.Errorf("goroce: release: the message has no buffer, or was released: %w",
			transport.ErrInvalid)
	}
	m.conn.giveBack(m.slot)
	return nil
}
