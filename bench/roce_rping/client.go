package main

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

// farewell is how long an end waits for the other to agree that it is over.
const farewell = 5 * time.Second

// dial is the client.
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
		err = nil // the user ended it
	}
	late, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return errors.Join(err, e.conn.Disconnect(late))
}

// pingOnce offers a text to be READ and a buffer to be WRITTEN to.
func (s *settings) pingOnce(ctx context.Context, e *end, n int, stdout io.Writer) error {
	text, sink := e.text.Bytes()[:s.size], e.sink.Bytes()[:s.size]
	writeText(text, n)
	clear(sink)
	for _, a := range []advert{advertOf(e.text, s.size), advertOf(e.sink, s.size)} {
		if err := e.send(a); err != nil {
			return err
		}
		if _, err := e.hear(ctx); err != nil { // the server is done with it
			return err
		}
	}
	if s.validate && !bytes.Equal(text, sink) {
		return fmt.Errorf("sent %q, came back as %q", wordOf(text), wordOf(sink))
	}
	if s.verbose {
		fmt.Fprintf(stdout, "ping data: %s\n", wordOf(sink))
	}
	return nil
}
