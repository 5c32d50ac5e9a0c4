package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

const (
	controlDepth = 8    // messages, more than are ever under way
	controlRoom  = 4096 // bytes of each: perftest's are of 108 at most
	heartbeat    = time.Second
	unanswered   = 10 * time.Second // and a peer is dead
)

// errSilent ends a control connection whose peer does not say goodbye.
var errSilent = fmt.Errorf("the peer has not answered for %v", unanswered)

// control is what stands for TCP with -R: a connection of a queue pair of its own, whose messages
// are SENDs. It is a net.Conn: each Write is one SEND, and waits until that is acknowledged; a Read
// takes from one SEND. A connection of the CM does not notice that its peer has died, so a WRITE of
// nothing asks now and then: it needs no key, is acknowledged like any other (InfiniBand spec
// C9-88), and no program at the peer sees it.
type control struct {
	host    *goroce.Host
	qp      *transport.QueuePair
	conn    *goroce.CMConn
	out, in *transport.MemoryRegion

	arrived, sent, beats chan transport.WorkCompletion // room for all that can be
	rest                 []byte                        // of the message that was read last

	writing sync.Mutex
	// closed when a deadline has passed, when the peer does not answer
	expired, silent   chan struct{}
	expire, hush, end sync.Once
}

// What a work request of the control queue pair is.
const (
	controlSend = iota
	controlBeat
)

// newControl makes the queue pair, ready to be connected.
func newControl(h *goroce.Host) (*control, error) {
	completions := func() chan transport.WorkCompletion {
		return make(chan transport.WorkCompletion, 2*controlDepth)
	}
	c := &control{host: h, arrived: completions(), sent: completions(), beats: completions(),
		expired: make(chan struct{}), silent: make(chan struct{})}
	return c, c.do(c.create)
}

// do runs f on the core that polls the queue pair.
func (c *control) do(f func(*transport.Endpoint) error) error {
	var failure error
	err := c.host.Do(0, func(ep *transport.Endpoint) { failure = f(ep) })
	return errors.Join(err, failure)
}

func (c *control) create(ep *transport.Endpoint) error {
	pd := ep.AllocPD()
	cq, err := ep.CreateCQ(4 * controlDepth)
	if err != nil {
		return err
	}
	if c.out, err = ep.RegisterMemory(pd, make([]byte, controlRoom), 0); err != nil {
		return err
	}
	if c.in, err = ep.RegisterMemory(pd, make([]byte, controlDepth*controlRoom),
		transport.LocalWrite); err != nil {
		return err
	}
	c.qp, err = ep.CreateQP(transport.QPInit{PD: pd, SendCQ: cq, RecvCQ: cq,
		MaxSendWR: controlDepth, MaxRecvWR: controlDepth, SignalAll: true})
	if err != nil {
		return err
	}
	cq.OnEvent(c.reap)
	cq.RequestNotify(false)
	if err := c.qp.ToInit(transport.InitAttr{}); err != nil {
		return err
	}
	for slot := range controlDepth {
		if err := c.expect(slot); err != nil {
			return err
		}
	}
	return nil
}

// expect posts the receive of a slot.
func (c *control) expect(slot int) error {
	return c.qp.PostRecv(&transport.RecvRequest{ID: uint64(slot),
		SGList: []transport.SGE{c.in.SGE(slot*controlRoom, controlRoom)}})
}

// reap hands out completions, on the polling core.
func (c *control) reap(cq *transport.CompletionQueue) {
	var wcs [controlDepth]transport.WorkCompletion
	for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			to := c.sent
			switch {
			case wc.Op == transport.CompRecv:
				to = c.arrived
			case wc.ID == controlBeat:
				to = c.beats
			}
			to <- wc
		}
	}
	cq.RequestNotify(false)
}

// params is what the queue pair brings to its connection. The WRITEs of the peer's heart are of no
// bytes; the right to them opens no memory.
func (c *control) params() goroce.CMParams {
	return goroce.CMParams{QP: c.qp, Access: transport.RemoteWrite, MinRNRTimer: rnrTimer,
		RetryCount: 7, RNRRetry: rnrRetry}
}

// begin is called when the connection stands.
func (c *control) begin(conn *goroce.CMConn) {
	c.conn = conn
	go c.beat()
}

// beat asks the peer whether it lives.
func (c *control) beat() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.conn.Done():
			return
		}
		err := c.do(func(*transport.Endpoint) error {
			return c.qp.PostSend(&transport.WorkRequest{ID: controlBeat, Op: transport.OpWrite})
		})
		if err == nil {
			err = c.completed(c.beats, unanswered)
		}
		if err != nil {
			c.hush.Do(func() { close(c.silent) })
			return
		}
	}
}

// completed waits for the completion of what was posted.
func (c *control) completed(of <-chan transport.WorkCompletion, within time.Duration) error {
	var wc transport.WorkCompletion
	late := time.After(within)
	select {
	case wc = <-of:
	case <-c.expired:
		return os.ErrDeadlineExceeded
	case <-c.silent:
		return errSilent
	case <-late:
		return errSilent
	case <-c.conn.Done():
		select {
		case wc = <-of: // acknowledged before the end, or flushed by it
		case <-time.After(settle):
			return c.conn.Err()
		}
	}
	return c.verdict(wc)
}

// verdict is the error of a completion.
func (c *control) verdict(wc transport.WorkCompletion) error {
	switch {
	case wc.Status == transport.StatusSuccess:
		return nil
	case c.conn.Err() != nil:
		return c.conn.Err() // io.EOF, when the peer has ended it
	}
	return fmt.Errorf("control connection to %v: %v", c.conn.Peer(), wc.Status)
}

// Read implements net.Conn, but for deadlines.
func (c *control) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// receive waits for the next message.
func (c *control) receive() error {
	var wc transport.WorkCompletion
	select {
	case wc = <-c.arrived:
	case <-c.silent:
		return errSilent
	case <-c.conn.Done():
		select {
		case wc = <-c.arrived:
		case <-time.After(settle):
			return c.conn.Err()
		}
	}
	if err := c.verdict(wc); err != nil {
		return err
	}
	at := int(wc.ID) * controlRoom
	c.rest = append(c.rest[:0], c.in.Bytes()[at:at+int(wc.ByteLen)]...)
	return c.do(func(*transport.Endpoint) error { return c.expect(int(wc.ID)) })
}

// Write implements net.Conn.
func (c *control) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(b) > controlRoom {
		return 0, fmt.Errorf("a message of %d bytes, the control connection takes %d", len(b),
			controlRoom)
	}
	select {
	case <-c.expired:
		return 0, os.ErrDeadlineExceeded
	default:
	}
	err := c.do(func(*transport.Endpoint) error {
		n := copy(c.out.Bytes(), b)
		return c.qp.PostSend(&transport.WorkRequest{ID: controlSend, Op: transport.OpSend,
			SGList: []transport.SGE{c.out.SGE(0, n)}})
	})
	if err == nil {
		err = c.completed(c.sent, unanswered)
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements net.Conn: it disconnects, and gives the peer a moment to agree.
func (c *control) Close() (err error) {
	c.end.Do(func() {
		if c.conn != nil {
			ctx, cancel := context.WithTimeout(context.Background(), farewell)
			defer cancel()
			err = c.conn.Disconnect(ctx)
		}
		// fails when the host is closed, which does the same
		_ = c.do(func(*transport.Endpoint) error {
			if c.qp != nil {
				c.qp.Destroy()
			}
			for _, mr := range []*transport.MemoryRegion{c.out, c.in} {
				if mr != nil {
					mr.Deregister()
				}
			}
			return nil
		})
	})
	return err
}

// LocalAddr implements net.Conn: nobody asks.
func (c *control) LocalAddr() net.Addr { return nil }

// RemoteAddr implements net.Conn.
func (c *control) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.conn.Peer()) }

// SetDeadline implements net.Conn as far as a handshake uses it: a moment long past ends what
// waits.
func (c *control) SetDeadline(t time.Time) error { return c.SetWriteDeadline(t) }

// SetReadDeadline implements net.Conn: peerConn reads ahead, and has the deadline itself.
func (c *control) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn, as SetDeadline.
func (c *control) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.expire.Do(func() { close(c.expired) })
	}
	return nil
}
