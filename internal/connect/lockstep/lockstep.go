package lockstep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// MessageTimeout is the maximum time between the first and the last byte of a message. The peer
// writes each message at once, so a rest that is late never arrives.
const MessageTimeout = 2 * time.Second

// Done is the last message of a handshake.
const Done = "done\x00"

// ErrGone is returned when the peer closed the connection.
var ErrGone = errors.New("the peer closed the connection")

// Conn exchanges messages over a connection. It sets the connection's deadline, and nobody else
// may.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
}

// New returns a Conn over conn.
func New(conn net.Conn) Conn { return Conn{conn: conn, in: bufio.NewReader(conn)} }

// expire interrupts reads and writes of the connection.
func (c *Conn) expire() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }

// Within runs f, which waits for the peer; the end of ctx interrupts it. The connection cannot be
// used any more after ctx ended, so Within then returns an error with the cause of ctx, even if f
// returned none. It calls f what.
func (c *Conn) Within(ctx context.Context, what string, f func() error) error {
	stop := context.AfterFunc(ctx, c.expire)
	err := f()
	if stop() {
		return err
	}
	if err == nil { // the deadline was set, or will be
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", err, context.Cause(ctx))
}

// Write writes a message.
func (c *Conn) Write(b []byte) error {
	_, err := c.conn.Write(b)
	return PeerError(err)
}

// Peek waits for a message of n bytes and returns the bytes that have arrived, which may be more,
// and with an error are fewer. They stay until Discard, and are valid until then.
func (c *Conn) Peek(n int) (arrived []byte, err error) {
	_, err = c.in.Peek(1)
	if err == nil {
		rest := time.AfterFunc(MessageTimeout, c.expire)
		if _, err = c.in.Peek(n); !rest.Stop() && err == nil {
			err = os.ErrDeadlineExceeded
		}
	}
	return c.Unread(), err
}

// Unread returns the bytes that have arrived and were not discarded. They are valid until Discard.
func (c *Conn) Unread() []byte {
	arrived, _ := c.in.Peek(c.in.Buffered())
	return arrived
}

// Discard removes n bytes that have arrived.
func (c *Conn) Discard(n int) { _, _ = c.in.Discard(n) }

// PeerError wraps err with ErrGone if the peer closed the connection.
func PeerError(err error) error {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	return err
}
