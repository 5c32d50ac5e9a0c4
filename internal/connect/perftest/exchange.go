package perftest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// messageTimeout is the maximum time between the first and the last byte of a message. perftest
// writes each message at once, so a rest that is late never arrives. It also limits the wait for
// "done".
const messageTimeout = 2 * time.Second

// done is the last message.
const done = "done\x00"

// exchanger exchanges messages of known sizes with a peer. perftest reads each message with a
// single read, so each must be a single write, and nothing may be sent before the peer's reply.
type exchanger struct {
	conn         net.Conn
	in           *bufio.Reader
	client       bool
	test         Test
	nativePrefix []byte // first message of a peer that is a goroce program
	isNative     bool
	gotMessage   bool  // a valid message of perftest arrived
	failed       error // the first error, which is final
}

func newExchanger(conn net.Conn, client bool, t Test) exchanger {
	return exchanger{conn: conn, in: bufio.NewReader(conn), client: client, test: t}
}

// expire interrupts reads and writes of the connection. No other deadline is set here.
func (x *exchanger) expire() { _ = x.conn.SetDeadline(time.Unix(1, 0)) }

// trade exchanges one message for one of the same size, which decode decodes. The client sends
// first.
func (x *exchanger) trade(ctx context.Context, what string, mine []byte,
	decode func([]byte) error) (err error) {
	if x.failed != nil {
		return x.failed
	}
	stop := context.AfterFunc(ctx, x.expire)
	defer func() {
		if !stop() { // the deadline was set, or will be
			if err == nil {
				err = fmt.Errorf("perftest: %s", what)
			}
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		x.failed = err
	}()
	if x.client {
		if err := x.write(what, mine); err != nil {
			return err
		}
	}
	theirs, err := x.read(what, len(mine))
	if err != nil {
		return err
	}
	if err := decode(theirs); err != nil {
		return err
	}
	x.gotMessage = true
	if !x.client {
		return x.write(what, mine)
	}
	return nil
}

func (x *exchanger) write(what string, b []byte) error {
	if _, err := x.conn.Write(b); err != nil {
		return fmt.Errorf("perftest: %s: %w", what, peerError(err))
	}
	return nil
}

// read returns the next message of n bytes. More bytes are an error, because the peer has to wait
// for our reply, unless they are the final "done".
func (x *exchanger) read(what string, n int) ([]byte, error) {
	_, err := x.in.Peek(1)
	if err == nil {
		rest := time.AfterFunc(messageTimeout, x.expire)
		if _, err = x.in.Peek(n); !rest.Stop() && err == nil {
			err = os.ErrDeadlineExceeded
		}
	}
	received, _ := x.in.Peek(x.in.Buffered())
	x.isNative = !x.gotMessage && x.nativePrefix != nil && bytes.HasPrefix(received, x.nativePrefix)
	switch {
	case x.isNative: // a goroce peer need not wait for a reply
	case err != nil && len(received) == 0:
		return nil, fmt.Errorf("perftest: %s: got 0 of %d bytes: %w", what, n, peerError(err))
	case err != nil || len(received) > n && string(received[n:]) != done:
		return nil, fmt.Errorf("perftest: %s: got %d bytes, want %d: %.120q: %w", what,
			len(received), n, received, x.sizeError(err))
	}
	b := bytes.Clone(received[:n])
	_, _ = x.in.Discard(n)
	return b, nil
}

// sizeError returns the reason for a message of the wrong size.
func (x *exchanger) sizeError(err error) error {
	switch {
	case !x.gotMessage:
		return ErrNotPerftest
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
		return x.mismatch()
	}
	return peerError(err)
}

func (x *exchanger) mismatch() error {
	return fmt.Errorf("the local test is %s: %w", x.test, ErrMismatch)
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

// farewell exchanges "done" and ignores errors: perftest no longer reads at this point, and its
// connection may end in any way.
func (x *exchanger) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, messageTimeout)
	defer cancel()
	_ = x.trade(ctx, "farewell", []byte(done), func([]byte) error { return nil })
}
