package perftest

import (
	"context"

	"github.com/goroce/goroce/internal/connect"
	handshake "github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/units"
)

// dialogue is the coordination between the two ends beside the test traffic: [nativePeer] between
// two goroce programs, [ofedPeer] with linux-rdma's perftest. Both ends call the same methods in
// this order. The method conclude ends the measurement of a size and returns the row to print, nil
// for none.
type dialogue interface {
	trade(ctx context.Context, mine *connect.Hello) (theirs *connect.Hello, err error)
	connected(ctx context.Context) error
	ready(ctx context.Context) error
	conclude(ctx context.Context, r *sizeRun) (*Row, error)
	end(ctx context.Context) error

	// refuse sends err to a peer waiting in trade, and returns it; sendError sends an error to a
	// peer that waits at the named later point.
	refuse(ctx context.Context, err error) error
	sendError(ctx context.Context, where string, err error) error
}

// mark distinguishes goroce programs from perftest. Change it when nativePeer's messages change.
const mark = "goroce2"

// identifyPeer identifies the peer. Both sides start with perftest's handshake, and goroce programs
// leave a mark in a field that perftest ignores. With -R they do not: their own protocol requires
// TCP.
func (x *session) identifyPeer(ctx context.Context) error {
	if x.settings.inProcess() {
		x.dialogue = &nativePeer{x}
		return nil
	}
	s := x.settings
	test := handshake.Test{
		Verb: [...]handshake.Verb{handshake.Write, handshake.Read, handshake.Send,
			handshake.Atomic}[s.Test.Verb],
		Kind: handshake.Kind(s.Test.Kind), Bidirectional: s.Bidirectional, All: s.All,
		Duration: s.Duration > 0, CM: s.CM,
	}
	mine := handshake.Hello{Page: pageSize, CacheLine: cacheLine, PathMTU: units.Bytes(x.pathMTU())}
	if !s.Upstream && !s.CM {
		mine.Mark = mark
	}
	greeting := handshake.Accept
	if !x.server {
		greeting = handshake.Connect
	}
	protocol, err := greeting(ctx, x.conn, test, mine)
	if err != nil {
		return x.lost(ctx, err)
	}
	if protocol.Native {
		x.conn.putBack(protocol.Rest())
		x.dialogue = &nativePeer{x}
		return nil
	}
	x.dialogue = &ofedPeer{x: x, protocol: protocol}
	return s.adaptToOFED(protocol.Agreed)
}

// pathMTU returns the largest path MTU of this end.
func (x *session) pathMTU() int {
	if x.settings.MTU > 0 {
		return x.settings.MTU
	}
	return x.portMTU()
}

// lost wraps a connection error as ErrPeerGone if the peer is gone.
func (x *session) lost(ctx context.Context, err error) error {
	if x.conn.isGone() && ctx.Err() == nil {
		return errGone(err)
	}
	return err
}
