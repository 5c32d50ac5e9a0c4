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

// messageTimeout is the maximum time between the first and the last byte of a message. The peer
// writes each message at once, so a rest that is late never arrives.
const messageTimeout = 2 * time.Second

// done ends the handshake.
const done = "done\x00"

// Connect runs the handshake as the client. The returned peer is ready to receive.
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

// Accept runs the handshake as the server. It calls ready, which must bring the queue pair to RTS
// toward the client, before it replies to the client. After ready the queue pair may receive
// packets.
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
			err = fmt.Errorf("pingpong: last message %q: want %q: %w", b, done, ErrNotPingpong)
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

// expire interrupts reads and writes of the connection. No other deadline is set here.
func (e *exchange) expire() { _ = e.conn.SetDeadline(time.Unix(1, 0)) }

// until runs f, which waits for the peer. The end of ctx interrupts it.
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

// destination reads the peer's Destination.
func (e *exchange) destination(mine Destination) (Destination, error) {
	b, err := e.read("the peer's destination", destinationLen)
	if err != nil {
		return Destination{}, err
	}
	peer, err := Decode(b)
	if err == nil && peer.GID.Is4() != mine.GID.Unmap().Is4() {
		return Destination{},
			fmt.Errorf("pingpong: remote GID %v, local GID %v: want both IPv4 or both IPv6 "+
				"(-g): "+
				"%w", peer.GID, mine.GID, ErrMismatch)
	}
	return peer, err
}

func (e *exchange) write(what string, b []byte) error {
	if _, err := e.conn.Write(b); err != nil {
		return fmt.Errorf("pingpong: %s: %w", what, peerError(err))
	}
	return nil
}

// read returns the next message of n bytes. More bytes are an error, because the peer has to wait
// for our reply.
func (e *exchange) read(what string, n int) ([]byte, error) {
	_, err := e.in.Peek(1)
	if err == nil {
		rest := time.AfterFunc(messageTimeout, e.expire)
		if _, err = e.in.Peek(n); !rest.Stop() && err == nil {
			err = os.ErrDeadlineExceeded
		}
	}
	received, _ := e.in.Peek(e.in.Buffered())
	switch {
	case err != nil && len(received) == 0:
		return nil, fmt.Errorf("pingpong: %s: got 0 of %d bytes: %w", what, n, peerError(err))
	case err != nil || len(received) > n:
		return nil, fmt.Errorf("pingpong: %s: got %d bytes, want %d: %.60q: %w", what,
			len(received), n, received, ErrNotPingpong)
	}
	b := append([]byte(nil), received...)
	_, _ = e.in.Discard(n)
	return b, nil
}

// peerError wraps err with ErrGone if the peer closed the connection.
func peerError(err error) error {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	return err
}
