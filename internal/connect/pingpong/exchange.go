package pingpong

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

// Connect runs the handshake as the client. The returned peer is ready to receive.
func Connect(ctx context.Context, conn net.Conn, mine Destination) (peer Destination, err error) {
	message, err := mine.Encode()
	if err != nil {
		return peer, err
	}
	e := exchange{lockstep.New(conn)}
	err = e.Within(ctx, "pingpong: the handshake", func() error {
		if err := e.write("our destination", message); err != nil {
			return err
		}
		if peer, err = e.destination(mine); err != nil {
			return err
		}
		return e.write("the end of the handshake", []byte(lockstep.Done))
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
	e := exchange{lockstep.New(conn)}
	err = e.Within(ctx, "pingpong: the handshake", func() error {
		if peer, err = e.destination(mine); err != nil {
			return err
		}
		if err := ready(peer); err != nil {
			return err
		}
		if err := e.write("our destination", message); err != nil {
			return err
		}
		b, err := e.read("the end of the handshake", len(lockstep.Done))
		if err == nil && string(b) != lockstep.Done {
			err = fmt.Errorf("pingpong: last message %q: want %q: %w", b, lockstep.Done,
				ErrNotPingpong)
		}
		return err
	})
	return peer, err
}

// exchange is the handshake over one connection.
type exchange struct{ lockstep.Conn }

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
	if err := e.Write(b); err != nil {
		return fmt.Errorf("pingpong: %s: %w", what, err)
	}
	return nil
}

// read returns the next message of n bytes. More bytes are an error, because the peer has to wait
// for our reply.
func (e *exchange) read(what string, n int) ([]byte, error) {
	received, err := e.Peek(n)
	switch {
	case err != nil && len(received) == 0:
		return nil, fmt.Errorf("pingpong: %s: got 0 of %d bytes: %w", what, n,
			lockstep.PeerError(err))
	case err != nil || len(received) > n:
		return nil, fmt.Errorf("pingpong: %s: got %d bytes, want %d: %.60q: %w", what,
			len(received), n, received, ErrNotPingpong)
	}
	b := bytes.Clone(received)
	e.Discard(n)
	return b, nil
}
