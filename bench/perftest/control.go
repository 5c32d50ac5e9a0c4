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
	controlDepth   = 8    // messages; more than are ever outstanding
	controlMsgSize = 4096 // bytes of each message; perftest's have at most 108
	heartbeat      = time.Second
	peerTimeout    = 10 * time.Second // after which a peer is considered dead
)

// errSilent is returned when the peer of a control connection does not respond.
var errSilent = fmt.Errorf("no response from the peer for %v", peerTimeout)

// control replaces TCP with -R: a connection on a queue pair of its own, whose messages are SENDs.
// It implements net.Conn: each Write is one SEND and waits for its acknowledgement; a Read returns
// data of one SEND. The CM does not detect a dead peer, so control sends a zero-length WRITE
// periodically. It needs no rkey, is acknowledged like any other WRITE (InfiniBand spec C9-88), and
// is invisible to the peer's program.
type control struct {
	host    *goroce.Host
	qp      *transport.QueuePair
	conn    *goroce.CMConn
	out, in *transport.MemoryRegion

	arrived, sent, beats chan transport.WorkCompletion // room for all completions
	rest                 []byte                        // unread part of the last message

	writing sync.Mutex
	// closed when a deadline has passed; when the peer does not respond
	expired, silent          chan struct{}
	expire, silenceOnce, end sync.Once
}

// IDs of the control queue pair's work requests.
const (
	controlSend = iota
	controlBeat
)

// newControl makes the queue pair and leaves it ready to be connected.
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
	if c.out, err = ep.RegisterMemory(pd, make([]byte, controlMsgSize), 0); err != nil {
		return err
	}
	if c.in, err = ep.RegisterMemory(pd, make([]byte, controlDepth*controlMsgSize),
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
	if err := c.qp.Modify(transport.Init, transport.QPAttr{}); err != nil {
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
		SGList: []transport.SGE{c.in.SGE(slot*controlMsgSize, controlMsgSize)}})
}

// reap distributes completions, on the polling core.
func (c *control) reap(cq *transport.CompletionQueue) {
	var wcs [controlDepth]transport.WorkCompletion
	for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			to := c.sent
			switch {
			case wc.Op == transport.OpRecv:
				to = c.arrived
			case wc.ID == controlBeat:
				to = c.beats
			}
			to <- wc
		}
	}
	cq.RequestNotify(false)
}

// params returns the queue pair's connection parameters. RemoteWrite permits the peer's zero-length
// WRITEs; no memory is registered for them.
func (c *control) params() goroce.CMParams {
	return goroce.CMParams{QP: c.qp, Access: transport.RemoteWrite, MinRNRTimer: rnrTimer,
		RetryCount: 7, RNRRetry: rnrRetry}
}

// begin starts the heartbeat of an established connection.
func (c *control) begin(conn *goroce.CMConn) {
	c.conn = conn
	go c.beat()
}

// beat checks periodically that the peer responds.
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
			err = c.completed(c.beats, peerTimeout)
		}
		if err != nil {
			c.silenceOnce.Do(func() { close(c.silent) })
			return
		}
	}
}

// completed waits for the completion of a posted request.
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

// verdict returns the error of a completion.
func (c *control) verdict(wc transport.WorkCompletion) error {
	switch {
	case wc.Status == transport.StatusSuccess:
		return nil
	case c.conn.Err() != nil:
		return c.conn.Err() // io.EOF if the peer has ended it
	}
	return fmt.Errorf("control connection to %v: %v", c.conn.Peer(), wc.Status)
}

// Read implements net.Conn without deadlines.
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
	at := int(wc.ID) * controlMsgSize
	c.rest = append(c.rest[:0], c.in.Bytes()[at:at+int(wc.ByteLen)]...)
	return c.do(func(*transport.Endpoint) error { return c.expect(int(wc.ID)) })
}

// Write implements net.Conn.
func (c *control) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(b) > controlMsgSize {
		return 0, fmt.Errorf("control message of %d bytes, want at most %d", len(b),
			controlMsgSize)
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
		err = c.completed(c.sent, peerTimeout)
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements net.Conn: it disconnects and waits up to farewell for the peer's confirmation.
func (c *control) Close() (err error) {
	c.end.Do(func() {
		if c.conn != nil {
			ctx, cancel := context.WithTimeout(context.Background(), farewell)
			defer cancel()
			err = c.conn.Disconnect(ctx)
		}
		// The error is ignored: a closed host has released these already.
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

// LocalAddr implements net.Conn. It is unused.
func (c *control) LocalAddr() net.Addr { return nil }

// RemoteAddr implements net.Conn.
func (c *control) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.conn.Peer()) }

// SetDeadline implements net.Conn as far as a handshake uses it: a time in the past ends pending
// writes.
func (c *control) SetDeadline(t time.Time) error { return c.SetWriteDeadline(t) }

// SetReadDeadline implements net.Conn. It does nothing: peerConn reads ahead and handles deadlines.
func (c *control) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn with the limits of SetDeadline.
func (c *control) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.expire.Do(func() { close(c.expired) })
	}
	return nil
}
