package goroce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport"
)

// DialConnCM connects a Conn to a port of a peer's RDMA connection manager: a listening program of
// librdmacm, or ListenCM. The private data are for the peer's program, up to 56 bytes. Errors are
// those of DialCM.
//
// The peer's SENDs are messages of the Conn, of up to MaxMessage bytes; it needs receives for those
// of this side.
func (h *Host) DialConnCM(ctx context.Context, peer netip.AddrPort, private []byte) (*Conn, error) {
	return h.connCM(func(p CMParams) (*CMConn, error) {
		p.Private = private
		return h.DialCM(ctx, peer, p)
	})
}

// AcceptConn accepts the request with a Conn, on any endpoint of the host. The private data are for
// the peer's program, up to 196 bytes.
func (r *CMRequest) AcceptConn(ctx context.Context, private []byte) (*Conn, error) {
	if t := r.Type(); t != transport.RC {
		return nil, fmt.Errorf("goroce: accept %v by RDMA CM: the peer requests a connection of "+
			"type %v, a Conn is of type %v: %w", r.Peer(), t, transport.RC, transport.ErrInvalid)
	}
	return r.c.m.host.connCM(func(p CMParams) (*CMConn, error) {
		p.Private = private
		return r.Accept(ctx, p)
	})
}

// connCM makes a Conn whose queue pair establish connects.
func (h *Host) connCM(establish func(CMParams) (*CMConn, error)) (*Conn, error) {
	c := h.newConn(false)
	c.use.allocate()
	var failure error
	err := c.w.do(func(ep *transport.Endpoint) { failure = c.createAt(ep) })
	err = errors.Join(err, failure)
	var cm *CMConn
	if err == nil {
		cm, err = establish(CMParams{QP: c.qp, Access: remoteAccess, MaxRdAtomic: maxReadsCM,
			MaxDestRdAtomic: maxReadsCM, MinRNRTimer: rnrTimer, RetryCount: h.retries,
			RNRRetry: connRetries})
	}
	if err != nil {
		return nil, errors.Join(err, c.Abort())
	}
	err = c.w.do(func(*transport.Endpoint) {
		c.control = cmControl{cm}
		c.peer, c.peerQPN, c.peerReads = cm.Peer().Addr(), c.qp.Query().DestQPN, cm.reads > 0
	})
	if err != nil {
		return nil, errors.Join(err, c.Abort())
	}
	c.run()
	return c, nil
}

// cmControl is a connection of the RDMA CM, whose end is the end of the Conn.
type cmControl struct{ *CMConn }

func (c cmControl) wait() error {
	<-c.Done()
	return c.Err()
}

func (c cmControl) ended() error { return c.Err() }

// close disconnects. The connection manager cannot express that messages may have been lost. It
// repeats the request to a peer that does not respond, for which close does not wait.
func (c cmControl) close(bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), disconnectTimeout)
	defer cancel()
	if err := c.Disconnect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
