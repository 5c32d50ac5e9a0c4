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

// Dial connects to a server that may not listen yet: it tries until ctx ends.
func Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn, nil
		}
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
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
func Barrier(ctx context.Context, conn net.Conn, name string, facts map[string]string) (map[string]string, error) {
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
		return nil, fmt.Errorf("connect: we are at barrier %q, the peer at %q: %w", name, theirs.Name, ErrMalformed)
	}
	return theirs.Facts, nil
}

// trade writes a message and reads the peer's, at once: either side may be the slower one.
func trade(ctx context.Context, conn net.Conn, message []byte) (body []byte, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the deadline was set, or will be
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	wrote := make(chan error, 1)
	go func() {
		_, err := conn.Write(message)
		wrote <- err
	}()
	body, err = read(conn)
	if werr := <-wrote; werr != nil && err == nil {
		err = fmt.Errorf("connect: %w", werr)
	}
	return body, err
}

func read(r io.Reader) ([]byte, error) {
	header := make([]byte, headerLen)
	if n, err := io.ReadFull(r, header); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("connect: it sent %q and left: %w", header[:n], ErrNotGoroce)
		}
		return nil, fmt.Errorf("connect: the peer is gone: %w", err)
	}
	n, err := bodyLen(header)
	if err != nil {
		return nil, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("connect: the peer left in the middle of a message: %w", err)
	}
	return body, nil
}
