package perftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

// exchanger exchanges messages with a peer.
type exchanger struct {
	lockstep.Conn
	client       bool
	test         Test
	nativePrefix []byte // first message of a peer that is a goroce program
	isNative     bool
	gotMessage   bool  // a valid message of perftest arrived
	failed       error // the first error, which is final
}

func newExchanger(conn net.Conn, client bool, t Test) exchanger {
	return exchanger{Conn: lockstep.New(conn), client: client, test: t}
}

// trade exchanges one message for one of the same size, which decode decodes. The client sends
// first.
func (x *exchanger) trade(ctx context.Context, what string, mine []byte,
	decode func([]byte) error) error {
	if x.failed != nil {
		return x.failed
	}
	x.failed = x.Within(ctx, "perftest: "+what, func() error {
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
	})
	return x.failed
}

func (x *exchanger) write(what string, b []byte) error {
	if err := x.Write(b); err != nil {
		return fmt.Errorf("perftest: %s: %w", what, err)
	}
	return nil
}

// read returns the next message of n bytes. More bytes are an error, because the peer has to wait
// for our reply, unless they are the final "done".
func (x *exchanger) read(what string, n int) ([]byte, error) {
	received, err := x.Peek(n)
	x.isNative = !x.gotMessage && x.nativePrefix != nil && bytes.HasPrefix(received, x.nativePrefix)
	switch {
	case x.isNative: // a goroce peer need not wait for a reply
	case err != nil && len(received) == 0:
		return nil, fmt.Errorf("perftest: %s: got 0 of %d bytes: %w", what, n,
			lockstep.PeerError(err))
	case err != nil || len(received) > n && string(received[n:]) != lockstep.Done:
		return nil, fmt.Errorf("perftest: %s: got %d bytes, want %d: %.120q: %w", what,
			len(received), n, received, x.sizeError(err))
	}
	b := bytes.Clone(received[:n])
	x.Discard(n)
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
	return lockstep.PeerError(err)
}

func (x *exchanger) mismatch() error {
	return fmt.Errorf("the local test is %s: %w", x.test, ErrMismatch)
}

// farewell exchanges "done" and ignores errors: perftest no longer reads at this point, and its
// connection may end in any way.
func (x *exchanger) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lockstep.MessageTimeout)
	defer cancel()
	_ = x.trade(ctx, "farewell", []byte(lockstep.Done), func([]byte) error { return nil })
}
