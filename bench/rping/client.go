package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/goroce/goroce"
)

// farewell is how long an end waits for the other to confirm disconnection.
const farewell = 5 * time.Second

// dial runs the client.
func (s *settings) dial(ctx context.Context, host *goroce.Host, stdout io.Writer) error {
	e, err := newEnd(host)
	if err != nil {
		return err
	}
	defer e.destroy()
	patient, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if e.conn, err = host.DialCM(patient, netip.AddrPortFrom(s.address, s.port),
		e.params()); err != nil {
		return err
	}
	for n := 0; (s.count == 0 || n < s.count) && err == nil; n++ {
		if err = s.pingOnce(ctx, e, n, stdout); err != nil && ctx.Err() == nil {
			err = fmt.Errorf("ping %d: %w", n, err)
		}
	}
	if ctx.Err() != nil {
		err = nil // interrupted by the user
	}
	late, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return errors.Join(err, e.conn.Disconnect(late))
}

// pingOnce advertises a text for the server's READ and a buffer for its WRITE.
func (s *settings) pingOnce(ctx context.Context, e *end, n int, stdout io.Writer) error {
	text, sink := e.text.Bytes()[:s.size], e.sink.Bytes()[:s.size]
	writeText(text, n)
	clear(sink)
	for _, a := range []advert{advertOf(e.text, s.size), advertOf(e.sink, s.size)} {
		if err := e.send(a); err != nil {
			return err
		}
		if _, err := e.receive(ctx); err != nil { // the server has finished with the buffer
			return err
		}
	}
	if s.validate && !bytes.Equal(text, sink) {
		return fmt.Errorf("got %q back, want %q", wordOf(sink), wordOf(text))
	}
	if s.verbose {
		fmt.Fprintf(stdout, "ping data: %s\n", wordOf(sink))
	}
	return nil
}
