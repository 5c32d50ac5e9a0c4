package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Work requests are told apart by these IDs.
const (
	idRecv = 1
	idSend = 2
)

var errSilent = errors.New("the peer is silent; do -s, -m, -n and the addresses agree?")

// bounce is the goroce.Program of both sides: the client sends first, and either sends its next
// message when its last one was acknowledged and the peer's has come, until each has sent Iters.
type bounce struct {
	settings *settings
	client   bool
	qp       *transport.QueuePair
	cq       *transport.CompletionQueue
	out, in  *transport.MemoryRegion
	message  []byte // what arrives, with -c
	send     transport.WorkRequest
	recv     transport.RecvRequest
	wcs      [16]transport.WorkCompletion

	posted, sent, received int // messages
	begun, moved, ended    units.Time
	started                bool
	halt                   bool
	err                    error
}

func newBounce(s *settings, client bool, qp *transport.QueuePair, cq *transport.CompletionQueue,
	out, in *transport.MemoryRegion) *bounce {
	size := int(s.Size)
	b := &bounce{settings: s, client: client, qp: qp, cq: cq, out: out, in: in}
	copy(out.Bytes(), newMessage(size, client && s.Check))
	if s.Check {
		b.message = newMessage(size, true)
	}
	b.send = transport.WorkRequest{ID: idSend, Op: transport.OpSend, Flags: transport.Signaled,
		SGList: []transport.SGE{out.SGE(0, size)}}
	b.recv = transport.RecvRequest{ID: idRecv, SGList: []transport.SGE{in.SGE(0, size)}}
	return b
}

// receive posts a receive. All use the same buffer: the peer waits for an answer to each message.
func (b *bounce) receive() error { return b.qp.PostRecv(&b.recv) }

// Step implements goroce.Program.
func (b *bounce) Step(_ *transport.Endpoint, now units.Time) (busy, done bool) {
	if b.halt {
		return true, true
	}
	if !b.started {
		b.started, b.begun, b.moved = true, now, now
		if b.client {
			b.next()
		}
	}
	n := b.cq.Poll(b.wcs[:])
	for i := 0; i < n && b.err == nil; i++ {
		b.complete(&b.wcs[i])
	}
	if n > 0 {
		b.moved = now
	} else if b.err == nil && now.Sub(b.moved) > b.settings.Timeout {
		b.err = fmt.Errorf(
			"nothing came for %v, with %d messages received and %d acknowledged of %d: %w",
			b.settings.Timeout, b.received, b.sent, b.settings.Iters, errSilent)
	}
	b.ended = now
	over := b.sent == b.settings.Iters && b.received == b.settings.Iters
	return n > 0, over || b.err != nil
}

// complete takes one completion.
func (b *bounce) complete(wc *transport.WorkCompletion) {
	switch {
	case wc.Status != transport.StatusSuccess:
		b.err = fmt.Errorf("message %d: %v", b.received+1, wc.Status)
		return
	case wc.Op == transport.CompRecv:
		b.received++
		if b.err = b.arrived(int(wc.ByteLen)); b.err != nil {
			return
		}
	default:
		b.sent++
	}
	// The client is a message ahead of what it has received, the server is not.
	due := b.received
	if b.client {
		due++
	}
	if b.sent == b.posted && b.posted < min(due, b.settings.Iters) {
		b.next()
	}
}

// arrived checks a message, and makes it what is sent back.
func (b *bounce) arrived(n int) error {
	data := b.in.Bytes()
	if b.settings.Check {
		if n != len(data) {
			return fmt.Errorf("-c: message %d has %d bytes, not the %d of -s", b.received, n,
				len(data))
		}
		if !bytes.Equal(data, b.message) {
			return fmt.Errorf("-c: message %d: %w", b.received, compare(data, b.message))
		}
	}
	if !b.client {
		copy(b.out.Bytes(), data)
	}
	if b.settings.Check {
		clear(data) // so that what the next one does not write shows
	}
	return b.receive()
}

// next sends the next message.
func (b *bounce) next() {
	b.posted++
	if err := b.qp.PostSend(&b.send); err != nil {
		b.err = fmt.Errorf("message %d: %w", b.posted, err)
	}
}
