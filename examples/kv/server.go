package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

// requests is how many PUTs of a connection may be in flight. Each has a place of slotSize bytes in
// memory of the server: an entry as in the table.
const requests = 32

// Statuses of a reply, whose immediate data are the request's place and, from bit 16 on, a status.
const (
	stored = iota
	full
	malformed
)

// Server is a store. Its host has one endpoint, whose core executes the READs and applies the PUTs,
// so that neither sees half of the other.
type Server struct {
	host  *goroce.Host
	table []byte
}

// NewServer makes a store with places for about entries keys on a host. Some 90 percent of them can
// be used.
func NewServer(host *goroce.Host, entries int) (*Server, error) {
	if entries < 1 || entries > 1<<28 {
		return nil, fmt.Errorf("kv: store of %d entries, want 1 to %d", entries, 1<<28)
	}
	if n := host.Endpoints(); n != 1 {
		return nil, fmt.Errorf("kv: host with %d endpoints, want 1", n)
	}
	buckets := (entries + bucketSlots - 1) / bucketSlots
	return &Server{host: host, table: make([]byte, buckets*bucketSize)}, nil
}

// Serve serves clients until ctx ends or the listener is closed.
func (s *Server) Serve(ctx context.Context, l *goroce.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		clients.Go(func() {
			defer conn.Close()
			if err := s.serve(ctx, conn); !errors.Is(err, io.EOF) && ctx.Err() == nil {
				slog.Warn("client lost", "peer", conn.RemoteAddr(), "reason", err)
			}
		})
	}
}

// serve registers the memory for a client, sends it the handles, and applies its PUTs.
func (s *Server) serve(ctx context.Context, conn *goroce.Conn) error {
	table, err := conn.Register(s.table, transport.RemoteRead)
	if err != nil {
		return err
	}
	places, err := conn.Register(make([]byte, requests*slotSize), transport.RemoteWrite)
	if err != nil {
		return err
	}
	var welcome []byte
	for _, m := range []*goroce.Memory{table, places} {
		if welcome, err = m.Remote().AppendBinary(welcome); err != nil {
			return err
		}
	}
	if err := conn.Send(ctx, welcome); err != nil {
		return err
	}
	for {
		m, err := conn.RecvMsg(ctx, nil)
		if err != nil {
			return err
		}
		if !m.Written || m.Imm >= requests {
			return fmt.Errorf("kv: message of %d bytes with immediate data %#x, want a PUT", m.Len,
				m.Imm)
		}
		status, err := s.apply(places.Bytes()[m.Imm*slotSize:][:slotSize])
		if err != nil {
			return err
		}
		if err := conn.SendMsg(ctx, nil, m.Imm|status<<16); err != nil {
			return err
		}
	}
}

// apply stores the entry of a request on the polling core.
func (s *Server) apply(request slot) (status uint32, err error) {
	if !request.isWhole() || check(request.key(), request.value()) != nil {
		return malformed, nil
	}
	var failure error
	if err := s.host.Do(0, func(*transport.Endpoint) {
		failure = put(s.table, request.key(), request.value())
	}); err != nil {
		return 0, err
	}
	if errors.Is(failure, ErrFull) {
		return full, nil
	}
	return stored, nil
}

// welcomeSize is the length of two encoded handles.
const welcomeSize = 48

// parseWelcome decodes the handles of the table and of the places for requests.
func parseWelcome(b []byte) (table, places goroce.Remote, err error) {
	if len(b) != welcomeSize {
		return table, places, fmt.Errorf("kv: first message of %d bytes, want %d", len(b),
			welcomeSize)
	}
	err = errors.Join(table.UnmarshalBinary(b[:welcomeSize/2]),
		places.UnmarshalBinary(b[welcomeSize/2:]))
	if err == nil && (table.Len == 0 || table.Len%bucketSize != 0 ||
		places.Len != requests*slotSize) {
		err = fmt.Errorf("kv: table of %d bytes, want a multiple of %d; requests of %d, want %d",
			table.Len, bucketSize, places.Len, requests*slotSize)
	}
	return table, places, err
}
