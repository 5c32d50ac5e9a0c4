package pingpong

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// IDs of work requests.
const (
	idRecv = 1
	idSend = 2
)

var errSilent = errors.New("no message from the peer; do -s, -m, -n and the addresses match?")

// bounce is the goroce.Program of both ends. The client sends first. Each end sends its next
// message when its last one is acknowledged and the peer's has arrived, until both have sent Iters.
type bounce struct {
	settings *settings
	client   bool
	qp       *transport.QueuePair
	cq       *transport.CompletionQueue
	out, in  *transport.MemoryRegion
	message  []byte // expected contents, with -c
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
	b.send = transport.WorkRequest{ID: idSend, Op: transport.OpSend, Signaled: true,
		SGList: []transport.SGE{out.SGE(0, size)}}
	b.recv = transport.RecvRequest{ID: idRecv, SGList: []transport.SGE{in.SGE(0, size)}}
	return b
}

// receive posts a receive. All receives share a buffer, because the peer waits for each response.
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
			"no completion for %v, with %d messages received and %d acknowledged of %d: %w",
			b.settings.Timeout, b.received, b.sent, b.settings.Iters, errSilent)
	}
	b.ended = now
	over := b.sent == b.settings.Iters && b.received == b.settings.Iters
	return n > 0, over || b.err != nil
}

// complete handles a completion.
func (b *bounce) complete(wc *transport.WorkCompletion) {
	switch {
	case wc.Status != transport.StatusSuccess:
		b.err = fmt.Errorf("message %d: %v", b.received+1, wc.Status)
		return
	case wc.Op == transport.OpRecv:
		b.received++
		if b.err = b.arrived(int(wc.ByteLen)); b.err != nil {
			return
		}
	default:
		b.sent++
	}
	// The client sends one message more than it has received.
	due := b.received
	if b.client {
		due++
	}
	if b.sent == b.posted && b.posted < min(due, b.settings.Iters) {
		b.next()
	}
}

// arrived checks a message, and on the server copies it to the response.
func (b *bounce) arrived(n int) error {
	data := b.in.Bytes()
	if b.settings.Check {
		if n != len(data) {
			return fmt.Errorf("-c: message %d: got %d bytes, want %d (-s)", b.received, n,
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
		clear(data) // exposes bytes that the next message does not write
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
