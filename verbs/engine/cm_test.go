package engine

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/verbs/protocol"
)

// cmClient is a program with an event channel.
type cmClient struct {
	*client
	channel uint32
	fd      int // of the channel
	cookies uint64
}

func cmPair(t testing.TB) (a, b *cmClient) {
	x, y := pair(t)
	return newCMClient(x), newCMClient(y)
}

func newCMClient(c *client) *cmClient {
	var h protocol.Handle
	fds := c.must(protocol.OpCMCreateChannel, nil, &h)
	require.Len(c.t, fds, 1)
	c.t.Cleanup(func() { _ = unix.Close(fds[0]) })
	require.NoError(c.t, unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO,
		&unix.Timeval{Sec: 20}))
	return &cmClient{client: c, channel: h.Handle, fd: fds[0]}
}

func (c *cmClient) id(space portSpace) uint32 {
	c.cookies++
	var h protocol.Handle
	c.must(protocol.OpCMCreateID, &protocol.CMCreateID{Cookie: c.cookies, Channel: c.channel,
		PortSpace: uint32(space), QPType: 2}, &h)
	return h.Handle
}

// event waits for the next event, which must be of a kind.
func (c *cmClient) event(kind uint32) (ev protocol.CMEvent) {
	n, err := unix.Read(c.fd, make([]byte, 1))
	require.NoError(c.t, err, "waiting for event %d", kind)
	require.Equal(c.t, 1, n)
	c.must(protocol.OpCMGetEvent, &protocol.Handle{Handle: c.channel}, &ev)
	require.Equal(c.t, kind, ev.Kind, "status %d", ev.Status)
	return ev
}

func (c *cmClient) hasEvent() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, 0)
	require.NoError(c.t, err)
	return n > 0
}

func (c *cmClient) addr(port uint16) protocol.CMAddr {
	return cmAddrOf(netip.AddrPortFrom(netip.AddrFrom16(c.device.GIDs[0]).Unmap(), port))
}

func (c *cmClient) listen(space portSpace, port uint16) uint32 {
	id := c.id(space)
	c.must(protocol.OpCMBind, &protocol.CMResolve{Handle: id,
		Source: cmAddrOf(netip.AddrPortFrom(netip.IPv6Unspecified(), port))}, nil)
	c.must(protocol.OpCMListen, &protocol.CMHandleValue{Handle: id, Value: 3}, nil)
	return id
}

// request makes an ID that asks a peer for a connection.
func (c *cmClient) request(space portSpace, to protocol.CMAddr) uint32 {
	id := c.id(space)
	c.must(protocol.OpCMResolveAddr, &protocol.CMResolve{Handle: id, TimeoutMS: 5000,
		Destination: to}, nil)
	c.event(cmAddrResolved)
	c.must(protocol.OpCMResolveRoute, &protocol.CMHandleValue{Handle: id}, nil)
	c.event(cmRouteResolved)
	c.must(protocol.OpCMConnect, private(id, 0, "request"), nil)
	return id
}

func private(id uint32, cookie uint64, text string) *protocol.CMConnect {
	r := &protocol.CMConnect{Cookie: cookie, Handle: id, Param: protocol.CMParam{Responder: 4,
		Initiator: 2, RetryCount: 7, RNRRetry: 7, QPN: 0x4711, PrivateLen: uint8(len(text))}}
	copy(r.Private[:], text)
	return r
}

func text(ev *protocol.CMEvent, n int) string { return string(ev.Private[:n]) }

// connectCMPair returns the IDs of a connection.
func connectCMPair(a, b *cmClient) (listener, passive, active uint32) {
	t := a.t
	listener = a.listen(spaceTCP, 7471)
	active = b.request(spaceTCP, a.addr(7471))
	ev := a.event(cmConnectRequest)
	require.Equal(t, "request", text(&ev, 7))
	require.EqualValues(t, 2, ev.Param.Responder, "what the peer has as initiator")
	require.EqualValues(t, 4, ev.Param.Initiator)
	passive = ev.NewID
	var attr protocol.QPAttr
	a.must(protocol.OpCMQPAttr, &protocol.CMHandleValue{Handle: passive, Value: 2}, &attr)
	require.EqualValues(t, rcRTR|attrState, attr.Mask)
	require.EqualValues(t, 0x4711, attr.DestQPN)
	a.must(protocol.OpCMAccept, private(passive, 100, "accept"), nil)
	ev = b.event(cmConnectResponse)
	require.Equal(t, "accept", text(&ev, 6))
	b.must(protocol.OpCMQPAttr, &protocol.CMHandleValue{Handle: active, Value: 3}, &attr)
	require.EqualValues(t, rcRTS|attrState, attr.Mask)
	b.must(protocol.OpCMEstablish, &protocol.Handle{Handle: active}, nil)
	ev = a.event(cmEstablished)
	require.EqualValues(t, 100, ev.Cookie)
	return listener, passive, active
}

func TestCMConnect(t *testing.T) {
	a, b := cmPair(t)
	listener, passive, active := connectCMPair(a, b)

	errno, _ := a.call(protocol.OpCMAccept, private(passive, 100, ""), nil)
	require.Equal(t, unix.EINVAL, errno, "a second accept")
	errno, _ = b.call(protocol.OpCMConnect, private(active, 0, ""), nil)
	require.Equal(t, unix.EINVAL, errno, "a second connect")

	b.must(protocol.OpCMDisconnect, &protocol.Handle{Handle: active}, nil)
	a.event(cmDisconnected)
	b.event(cmDisconnected)
	a.must(protocol.OpCMDisconnect, &protocol.Handle{Handle: passive}, nil)

	var r protocol.CMReported
	b.must(protocol.OpCMDestroyID, &protocol.Handle{Handle: active}, &r)
	require.EqualValues(t, 4, r.Events)
	a.must(protocol.OpCMDestroyID, &protocol.Handle{Handle: passive}, &r)
	require.EqualValues(t, 2, r.Events)
	a.must(protocol.OpCMDestroyID, &protocol.Handle{Handle: listener}, &r)
	require.EqualValues(t, 1, r.Events, "the request")
	errno, _ = a.call(protocol.OpCMDestroyID, &protocol.Handle{Handle: listener}, &r)
	require.Equal(t, unix.EINVAL, errno)
}

// A program that ends, or is killed, leaves no connection behind.
func TestCMSessionEnds(t *testing.T) {
	a, b := cmPair(t)
	connectCMPair(a, b)
	b.client.close()
	a.event(cmDisconnected)
}

func TestCMRefused(t *testing.T) {
	a, b := cmPair(t)
	b.request(spaceTCP, a.addr(1))
	require.EqualValues(t, 8, b.event(cmRejected).Status, "nobody listens")

	a.listen(spaceTCP, 7471)
	b.request(spaceTCP, a.addr(7471))
	request := a.event(cmConnectRequest)
	a.must(protocol.OpCMReject, private(request.NewID, 0, "no"), nil)
	ev := b.event(cmRejected)
	require.EqualValues(t, 28, ev.Status)
	require.Equal(t, "no", text(&ev, 2))

	other := a.id(spaceTCP)
	errno, _ := a.call(protocol.OpCMBind, &protocol.CMResolve{Handle: other,
		Source: a.addr(7471)}, nil)
	require.Equal(t, unix.EADDRINUSE, errno)
	errno, _ = a.call(protocol.OpCMBind, &protocol.CMResolve{Handle: other,
		Source: b.addr(9)}, nil)
	require.Equal(t, unix.ENODEV, errno, "not an address of ours")
}

// The peer does not exist.
func TestCMAddrError(t *testing.T) {
	a, _ := cmPair(t)
	id := a.id(spaceTCP)
	to := a.addr(1)
	to.Addr[15] ^= 0x55
	a.must(protocol.OpCMResolveAddr, &protocol.CMResolve{Handle: id, TimeoutMS: 50,
		Destination: to}, nil)
	require.EqualValues(t, -int32(unix.ETIMEDOUT), a.event(cmAddrError).Status)
	to.Family, to.Addr = 4, [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}
	id = a.id(spaceTCP)
	a.must(protocol.OpCMResolveAddr, &protocol.CMResolve{Handle: id, TimeoutMS: 50,
		Destination: to}, nil)
	require.EqualValues(t, -int32(unix.ENETUNREACH), a.event(cmAddrError).Status)
}

// The events of a destroyed ID are gone, and those of a migrated one have moved.
func TestCMPendingEvents(t *testing.T) {
	a, b := cmPair(t)
	listener := a.listen(spaceTCP, 7471)
	b.request(spaceTCP, a.addr(7471))
	require.Eventually(t, a.hasEvent, 10*time.Second, time.Millisecond)
	a.must(protocol.OpCMDestroyID, &protocol.Handle{Handle: listener}, nil)
	require.False(t, a.hasEvent())
	errno, _ := a.call(protocol.OpCMGetEvent, &protocol.Handle{Handle: a.channel}, nil)
	require.Equal(t, unix.EAGAIN, errno)
	b.event(cmRejected)

	id := b.id(spaceTCP)
	b.must(protocol.OpCMResolveAddr, &protocol.CMResolve{Handle: id, TimeoutMS: 5000,
		Destination: a.addr(7471)}, nil)
	require.Eventually(t, b.hasEvent, 10*time.Second, time.Millisecond)
	second := newCMClient(b.client)
	b.must(protocol.OpCMMigrateID, &protocol.CMHandleValue{Handle: id, Value: second.channel}, nil)
	require.False(t, b.hasEvent())
	second.event(cmAddrResolved)
	b.must(protocol.OpCMDestroyChannel, &protocol.Handle{Handle: second.channel}, nil)
	errno, _ = b.call(protocol.OpCMQuery, &protocol.Handle{Handle: id}, nil)
	require.Equal(t, unix.EINVAL, errno, "a channel's IDs are destroyed with it")
}

// A listener refuses requests beyond its backlog until the program has decided on some.
func TestCMBacklog(t *testing.T) {
	a, b := cmPair(t)
	a.listen(spaceTCP, 7471)
	var first protocol.CMEvent
	for i := range 3 {
		b.request(spaceTCP, a.addr(7471))
		if ev := a.event(cmConnectRequest); i == 0 {
			first = ev
		}
	}
	b.request(spaceTCP, a.addr(7471))
	require.EqualValues(t, 3, b.event(cmRejected).Status, "no resources")
	a.must(protocol.OpCMAccept, private(first.NewID, 100, ""), nil)
	b.event(cmConnectResponse)
	b.request(spaceTCP, a.addr(7471))
	a.event(cmConnectRequest)
}

func TestCMLookup(t *testing.T) {
	a, b := cmPair(t)
	a.listen(spaceUDP, 7174)
	b.request(spaceUDP, a.addr(7174))
	request := a.event(cmConnectRequest)
	require.Equal(t, "request", text(&request, 7))
	require.EqualValues(t, 4, request.QPType)
	a.must(protocol.OpCMAccept, private(request.NewID, 100, "here"), nil)
	ev := b.event(cmEstablished)
	require.Equal(t, "here", text(&ev, 4))
	require.EqualValues(t, 0x4711, ev.Param.QPN)
	require.EqualValues(t, udpQKey, ev.Param.QKey)
	require.Equal(t, a.device.GIDs[0], ev.Route.Path.DGID)

	b.request(spaceUDP, a.addr(7174))
	request = a.event(cmConnectRequest)
	a.must(protocol.OpCMReject, private(request.NewID, 0, ""), nil)
	require.EqualValues(t, 2, b.event(cmUnreachable).Status)
	b.request(spaceUDP, a.addr(1))
	require.EqualValues(t, 1, b.event(cmUnreachable).Status, "nobody listens")
}

// FuzzCMRequests: no request to the connection manager, in whichever state an ID is, disturbs the
// engine.
func FuzzCMRequests(f *testing.F) {
	e := openEngine(f, "null:")
	for op := protocol.OpCMCreateChannel; op <= protocol.OpCMSetOption; op++ {
		for _, body := range []any{nil, &protocol.Handle{Handle: 2}, &protocol.CMOption{Handle: 2},
			&protocol.CMResolve{Handle: 2, Source: protocol.CMAddr{Family: 6, Port: 5}},
			&protocol.CMConnect{Handle: 3}} {
			m, err := protocol.Append(nil, protocol.Header{Op: op}, body)
			require.NoError(f, err)
			f.Add(m, uint8(op))
		}
	}
	f.Fuzz(func(t *testing.T, m []byte, prefix uint8) {
		if len(m) == 0 || len(m) > protocol.MaxMessage {
			return // the end of the session, or more than the reply's reader takes
		}
		c := newCMClient(dial(t, e))
		c.id(spaceTCP)
		if prefix%2 == 0 {
			c.listen(spaceUDP, 0)
		}
		_, _, fds := c.raw(m)
		closeAll(fds)
		var port protocol.Port
		c.must(protocol.OpQueryPort, nil, &port)
		c.client.close()
	})
}
