package perftest

import (
	"context"

	"github.com/goroce/goroce/internal/connect"
	handshake "github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/units"
)

// dialogue is what the two ends say to each other beside the traffic: [kindred] between two of
// ours, [upstream] with linux-rdma's perftest. Both ends call the same methods in this order;
// conclude ends the measurement of a size and answers what is to be shown for it, nil for nothing.
type dialogue interface {
	trade(ctx context.Context, mine *connect.Hello) (theirs *connect.Hello, err error)
	connected(ctx context.Context) error
	ready(ctx context.Context) error
	conclude(ctx context.Context, r *round) (*Row, error)
	end(ctx context.Context) error

	// refuse answers err after telling the peer, who waits for trade, that nothing will come of it;
	// tell lets the peer know what went wrong here later, where it will wait for us.
	refuse(ctx context.Context, err error) error
	tell(ctx context.Context, where string, err error) error
}

// mark tells programs of ours from perftest's. It changes with what kindred says.
const mark = "goroce"

// greet finds out who the peer is: both sides begin as perftest does, and ours leave a mark where
// perftest does not look. With -R they do not: what two of ours would say goes over TCP.
func (x *session) greet(ctx context.Context) error {
	if x.settings.inProcess() {
		x.dialogue = &kindred{x}
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
	said, err := greeting(ctx, x.conn, test, mine)
	if err != nil {
		return x.lost(ctx, err)
	}
	if said.Kin {
		x.conn.putBack(said.Rest())
		x.dialogue = &kindred{x}
		return nil
	}
	x.dialogue = &upstream{x: x, said: said}
	return s.suitUpstream(said.Agreed)
}

// pathMTU is the largest that this end can do.
func (x *session) pathMTU() int {
	if x.settings.MTU > 0 {
		return x.settings.MTU
	}
	return x.portMTU()
}

// lost says of an error of the connection that the peer is gone, when it is.
func (x *session) lost(ctx context.Context, err error) error {
	if x.conn.isGone() && ctx.Err() == nil {
		return errGone(err)
	}
	return err
}
