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

// patience is how long the rest of a message may take after its first byte: perftest writes each at
// once, so that a rest which does not come will never. Also how long we wait for a farewell.
const patience = 2 * time.Second

// done is the farewell.
const done = "done\x00"

// exchanger trades messages of known sizes with a peer. perftest reads each with a single read, so
// that each must be a single write, and nothing may be sent before the peer has answered.
type exchanger struct {
	conn   net.Conn
	in     *bufio.Reader
	client bool
	test   Test
	kin    []byte // the first message of a peer like us
	metKin bool
	met    bool  // the peer has said something that perftest says
	failed error // the first one: nothing can follow it
}

func newExchanger(conn net.Conn, client bool, t Test) exchanger {
	return exchanger{conn: conn, in: bufio.NewReader(conn), client: client, test: t}
}

// expire ends what waits for the connection. It is the only deadline set here, never one to come.
func (x *exchanger) expire() { _ = x.conn.SetDeadline(time.Unix(1, 0)) }

// trade exchanges one message for one of the same size, which decode reads. The client speaks
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
	x.met = true
	if !x.client {
		return x.write(what, mine)
	}
	return nil
}

func (x *exchanger) write(what string, b []byte) error {
	if _, err := x.conn.Write(b); err != nil {
		return fmt.Errorf("perftest: %s: %w", what, gone(err))
	}
	return nil
}

// read answers the next message. What is there beyond it must not be: the peer waits for our
// answer, unless it has said the last word.
func (x *exchanger) read(what string, n int) ([]byte, error) {
	_, err := x.in.Peek(1)
	if err == nil {
		rest := time.AfterFunc(patience, x.expire)
		if _, err = x.in.Peek(n); !rest.Stop() && err == nil {
			err = os.ErrDeadlineExceeded
		}
	}
	came, _ := x.in.Peek(x.in.Buffered())
	x.metKin = !x.met && x.kin != nil && bytes.HasPrefix(came, x.kin)
	switch {
	case x.metKin: // which need not wait for an answer
	case err != nil && len(came) == 0:
		return nil, fmt.Errorf("perftest: %s: none of %d bytes came: %w", what, n, gone(err))
	case err != nil || len(came) > n && string(came[n:]) != done:
		return nil, fmt.Errorf("perftest: %s: %d bytes came, not %d, %.120q: %w", what, len(came),
			n, came, x.astray(err))
	}
	b := bytes.Clone(came[:n])
	_, _ = x.in.Discard(n)
	return b, nil
}

// astray says what it means that a message is not as long as it should be.
func (x *exchanger) astray(err error) error {
	switch {
	case !x.met:
		return ErrNotPerftest
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
		return x.mismatch()
	}
	return gone(err)
}

func (x *exchanger) mismatch() error { return fmt.Errorf("here it is %s: %w", x.test, ErrMismatch) }

// gone tells apart that the peer has ended from other errors of a connection.
func gone(err error) error {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	return err
}

// farewell says done and waits a moment for the peer's. That is a courtesy: perftest itself does
// not listen any more, and its connection may end in any way.
func (x *exchanger) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = x.trade(ctx, "farewell", []byte(done), func([]byte) error { return nil })
}
