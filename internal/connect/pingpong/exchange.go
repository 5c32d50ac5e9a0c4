package pingpong

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

// patience is how long the rest of a message may take after its first byte: the peer writes each at
// once, so that a rest which does not come will never.
const patience = 2 * time.Second

// done ends the handshake.
const done = "done\x00"

// Connect is the client's side. The peer that it answers is ready to receive.
func Connect(ctx context.Context, conn net.Conn, mine Destination) (peer Destination, err error) {
	message, err := mine.Encode()
	if err != nil {
		return peer, err
	}
	e := exchange{conn: conn, in: bufio.NewReader(conn)}
	err = e.until(ctx, func() error {
		if err := e.write("our destination", message); err != nil {
			return err
		}
		if peer, err = e.destination(mine); err != nil {
			return err
		}
		return e.write("the end of the handshake", []byte(done))
	})
	return peer, err
}

// Accept is the server's side. ready brings its queue pair to RTS toward the client: the client is
// not told before. After ready the queue pair may get packets.
func Accept(ctx context.Context, conn net.Conn, mine Destination,
	ready func(peer Destination) error) (peer Destination, err error) {
	message, err := mine.Encode()
	if err != nil {
		return peer, err
	}
	e := exchange{conn: conn, in: bufio.NewReader(conn)}
	err = e.until(ctx, func() error {
		if peer, err = e.destination(mine); err != nil {
			return err
		}
		if err := ready(peer); err != nil {
			return err
		}
		if err := e.write("our destination", message); err != nil {
			return err
		}
		b, err := e.read("the end of the handshake", len(done))
		if err == nil && string(b) != done {
			err = fmt.Errorf("pingpong: it ended with %q, not with %q: %w", b, done, ErrNotPingpong)
		}
		return err
	})
	return peer, err
}

// exchange is the handshake over one connection.
type exchange struct {
	conn net.Conn
	in   *bufio.Reader
}

// expire ends what waits for the connection. It is the only deadline set here, never one to come.
func (e *exchange) expire() { _ = e.conn.SetDeadline(time.Unix(1, 0)) }

// until does what waits for the peer, no longer than ctx lasts.
func (e *exchange) until(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, e.expire)
	err := f()
	if !stop() { // the deadline was set, or will be
		if err == nil {
			err = errors.New("pingpong: the handshake")
		}
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}

// destination reads the peer's.
func (e *exchange) destination(mine Destination) (Destination, error) {
	b, err := e.read("the peer's destination", destinationLen)
	if err != nil {
		return Destination{}, err
	}
	peer, err := Decode(b)
	if err == nil && peer.GID.Is4() != mine.GID.Unmap().Is4() {
		return Destination{},
			fmt.Errorf("pingpong: the GID there is %v, here %v: both IPv4 or both IPv6 (-g): %w",
				peer.GID, mine.GID, ErrMismatch)
	}
	return peer, err
}

func (e *exchange) write(what string, b []byte) error {
	if _, err := e.conn.Write(b); err != nil {
		return fmt.Errorf("pingpong: %s: %w", what, gone(err))
	}
	return nil
}

// read answers the next message. Nothing may be there beyond it: the peer waits for us.
func (e *exchange) read(what string, n int) ([]byte, error) {
	_, err := e.in.Peek(1)
	if err == nil {
		rest := time.AfterFunc(patience, e.expire)
		if _, err = e.in.Peek(n); !rest.Stop() && err == nil {
			err = os.ErrDeadlineExceeded
		}
	}
	came, _ := e.in.Peek(e.in.Buffered())
	switch {
	case err != nil && len(came) == 0:
		return nil, fmt.Errorf("pingpong: %s: none of %d bytes came: %w", what, n, gone(err))
	case err != nil || len(came) > n:
		return nil, fmt.Errorf("pingpong: %s: %d bytes came, not %d, %.60q: %w", what, len(came), n,
			came, ErrNotPingpong)
	}
	b := append([]byte(nil), came...)
	_, _ = e.in.Discard(n)
	return b, nil
}

// gone tells apart that the peer has ended from other errors of a connection.
func gone(err error) error {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	return err
}
