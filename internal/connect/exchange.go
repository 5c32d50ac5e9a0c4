package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// retryInterval is how long Dial waits before it tries again.
const retryInterval = 20 * time.Millisecond

// Dial connects to a server that may not listen yet: it tries until ctx ends. An address that is
// not HOST:PORT, or of a host that does not exist, is an error at once.
func Dial(ctx context.Context, addr string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("connect: not HOST:PORT: %w", err)
	}
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn, nil
		}
		var dns *net.DNSError
		var impossible *net.AddrError
		if errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &impossible) {
			return nil, fmt.Errorf("connect: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect: no server at %s: %w", addr, err)
		case <-time.After(retryInterval):
		}
	}
}

// Exchange sends mine and answers what the peer sent; both sides call it. A Hello with an Error
// comes back as ErrRefused with the peer's words.
func Exchange(ctx context.Context, conn net.Conn, mine *Hello) (*Hello, error) {
	hello := *mine
	hello.Version = Version
	message, err := hello.Encode()
	if err != nil {
		return nil, err
	}
	body, err := trade(ctx, conn, message)
	if err != nil {
		return nil, err
	}
	return Decode(body)
}

// Send sends a Hello without waiting for the peer's. One with an Error refuses the connection.
func Send(ctx context.Context, conn net.Conn, mine *Hello) error {
	hello := *mine
	hello.Version = Version
	message, err := hello.Encode()
	if err != nil {
		return err
	}
	return within(ctx, conn, func() error {
		if _, err := conn.Write(message); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		return nil
	})
}

// Receive waits for the peer's Hello before anything is said to it: with Send the half of Exchange
// of a server that commits nothing to who only connects. A body longer than limit bytes is
// malformed.
func Receive(ctx context.Context, conn net.Conn, limit int) (theirs *Hello, err error) {
	var body []byte
	if err := within(ctx, conn, func() (err error) {
		body, err = read(conn, limit)
		return err
	}); err != nil {
		return nil, err
	}
	return Decode(body)
}

// Refuse tells the peer why there will be no connection.
func Refuse(ctx context.Context, conn net.Conn, why error) error {
	message, err := (&Hello{Version: Version, Error: why.Error()}).Encode()
	if err != nil {
		return err
	}
	_, err = trade(ctx, conn, message)
	return err
}

// mark is the message of a barrier.
type mark struct {
	Name  string            `json:"barrier"`
	Facts map[string]string `json:"facts,omitempty"`
}

// Barrier waits until both sides have come to the point called name, and trades facts there.
func Barrier(ctx context.Context, conn net.Conn, name string,
	facts map[string]string) (map[string]string, error) {
	message, err := encode(mark{Name: name, Facts: facts})
	if err != nil {
		return nil, err
	}
	body, err := trade(ctx, conn, message)
	if err != nil {
		return nil, fmt.Errorf("connect: barrier %q: %w", name, err)
	}
	var theirs mark
	if err := decode(body, &theirs); err != nil {
		return nil, err
	}
	if theirs.Name != name {
		return nil, fmt.Errorf("connect: we are at barrier %q, the peer at %q: %w", name,
			theirs.Name, ErrMalformed)
	}
	return theirs.Facts, nil
}

// within runs f, which uses conn, until ctx ends.
func within(ctx context.Context, conn net.Conn, f func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() { // the deadline was set, or will be
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}

// trade writes a message and reads the peer's, at once: either side may be the slower one.
func trade(ctx context.Context, conn net.Conn, message []byte) (body []byte, err error) {
	err = within(ctx, conn, func() error {
		wrote := make(chan error, 1)
		go func() {
			_, err := conn.Write(message)
			wrote <- err
		}()
		var err error
		body, err = read(conn, MaxBody)
		if werr := <-wrote; werr != nil && err == nil {
			err = fmt.Errorf("connect: %w", werr)
		}
		return err
	})
	return body, err
}

// read reads a message with a body of up to limit bytes. It takes no more memory than has come.
func read(r io.Reader, limit int) ([]byte, error) {
	header := make([]byte, headerLen)
	if n, err := io.ReadFull(r, header); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("connect: it sent %q and left: %w", header[:n], ErrNotGoroce)
		}
		return nil, fmt.Errorf("connect: the peer is gone: %w", err)
	}
	n, err := bodyLen(header, limit)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(body) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("connect: the peer left in the middle of a message: %w", err)
	}
	return body, nil
}
