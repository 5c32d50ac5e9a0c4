package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

// serve runs the server.
func (s *settings) serve(ctx context.Context, host *goroce.Host, stdout, stderr io.Writer) error {
	if a := s.address; a.IsValid() && !a.IsUnspecified() &&
		!slices.ContainsFunc(host.Addrs(), func(p netip.Prefix) bool { return p.Addr() == a }) {
		return fmt.Errorf("-a %v: want an address of the port, one of %v (see --ip)", a,
			host.Addrs())
	}
	l, err := host.ListenCM(s.port)
	if err != nil {
		return err
	}
	defer l.Close()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		r, err := l.Accept(ctx)
		if ctx.Err() != nil {
			return nil // interrupted by the user
		}
		if err != nil {
			return err
		}
		if !s.persistent {
			return s.serveClient(ctx, host, r, stdout)
		}
		clients.Go(func() {
			if err := s.serveClient(ctx, host, r, stdout); err != nil {
				fmt.Fprintf(stderr, "roce_rping: %v\n", err)
			}
		})
	}
}

// serveClient serves a client until it disconnects.
func (s *settings) serveClient(ctx context.Context, host *goroce.Host, r *goroce.CMRequest,
	stdout io.Writer) error {
	e, err := newEnd(host)
	if err != nil {
		return errors.Join(err, r.Reject(nil))
	}
	defer e.destroy()
	if e.conn, err = r.Accept(ctx, e.params()); err != nil {
		return err
	}
	for n := 0; err == nil; n++ {
		var a advert
		if a, err = e.receive(ctx); err == nil {
			err = s.servePing(ctx, e, a, n, stdout)
		} else if errors.Is(err, io.EOF) {
			return nil // a client may disconnect between two pings
		}
	}
	late, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if ctx.Err() != nil {
		err = nil // interrupted by the user
	}
	return errors.Join(err, e.conn.Disconnect(late))
}

// servePing READs the text at a, and WRITEs it to the buffer that the client advertises next.
func (s *settings) servePing(ctx context.Context, e *end, a advert, n int,
	stdout io.Writer) error {
	if a.size < 1 || a.size > maxSize {
		return fmt.Errorf("client %v advertises %d bytes, want 1 to %d", e.conn.Peer(), a.size,
			maxSize)
	}
	if err := e.move(ctx, transport.OpRead, a); err != nil {
		return err
	}
	text := e.text.Bytes()[:a.size]
	if s.validate {
		want := make([]byte, a.size)
		if writeText(want, n); !bytes.Equal(want, text) {
			return fmt.Errorf("ping %d of %v: got %q, want %q", n, e.conn.Peer(), wordOf(text),
				wordOf(want))
		}
	}
	if s.verbose {
		fmt.Fprintf(stdout, "server ping data: %s\n", wordOf(text))
	}
	if err := e.send(advert{}); err != nil { // signals that the READ is complete
		return err
	}
	sink, err := e.receive(ctx)
	if err != nil {
		return err
	}
	if sink.size < a.size {
		return fmt.Errorf("client %v advertises %d bytes, want at least the %d of its text",
			e.conn.Peer(), sink.size,
			a.size)
	}
	sink.size = a.size
	if err := e.move(ctx, transport.OpWrite, sink); err != nil {
		return err
	}
	return e.send(advert{}) // signals that the WRITE is complete
}
