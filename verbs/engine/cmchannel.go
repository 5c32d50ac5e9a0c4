package engine

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// cmChannel is an event channel: a queue of events, and a socket with a byte for each of them, so
// that a program can wait for its end. We keep both ends, to take bytes back.
type cmChannel struct {
	handle         uint32
	ours, programs int
	queue          []*cmEvent
	unsent         int // bytes for which the socket had no room
	ids            map[*cmID]struct{}
}

// cmEvent is an event of an ID.
type cmEvent struct {
	id     *cmID // the listener, if it is a request
	newID  *cmID
	status int32
	kind   uint32
	param  protocol.CMParam
	// private is the data of the peer's program.
	private []byte
	path    *protocol.Path // to the peer's queue pair, of a lookup
}

// Values of enum rdma_cm_event_type.
const (
	cmAddrResolved    = 0
	cmAddrError       = 1
	cmRouteResolved   = 2
	cmConnectRequest  = 4
	cmConnectResponse = 5
	cmUnreachable     = 7
	cmRejected        = 8
	cmEstablished     = 9
	cmDisconnected    = 10
	cmTimewaitExit    = 15
)

func (s *Session) createCMChannel(_ *transport.Endpoint, _ *struct{}) (answer, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return answer{}, fmt.Errorf("socketpair: %w", err)
	}
	programs, err := unix.FcntlInt(uintptr(pair[1]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		closeAll(pair[:])
		return answer{}, fmt.Errorf("duplicate a socket: %w", err)
	}
	c := &cmChannel{ours: pair[0], programs: programs, ids: make(map[*cmID]struct{})}
	if c.handle, err = s.add(c); err != nil {
		closeAll(append(pair[:], programs))
		return answer{}, err
	}
	return answer{body: &protocol.Handle{Handle: c.handle}, memory: []*shared{{fd: pair[1]}}}, nil
}

// destroyCMChannel destroys the channel's IDs, too.
func (s *Session) destroyCMChannel(ep *transport.Endpoint, r *protocol.Handle) (answer, error) {
	c, err := find[*cmChannel](s, r.Handle)
	if err == nil {
		s.removeCMChannel(ep, c)
	}
	return answer{}, err
}

func (s *Session) removeCMChannel(ep *transport.Endpoint, c *cmChannel) {
	for id := range c.ids {
		s.removeCMID(ep, id)
	}
	closeAll([]int{c.ours, c.programs})
	delete(s.objects, c.handle)
}

// push adds an event.
func (c *cmChannel) push(ev *cmEvent) {
	c.queue = append(c.queue, ev)
	c.unsent++
	c.sendBytes()
}

func (c *cmChannel) sendBytes() {
	for c.unsent > 0 && notify(c.ours, []byte{1}) {
		c.unsent--
	}
}

// pop removes the oldest event.
func (c *cmChannel) pop() *cmEvent {
	if len(c.queue) == 0 {
		return nil
	}
	ev := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	c.sendBytes()
	return ev
}

// take removes the events of an ID. A byte that the program has read already leads it to ask in
// vain.
func (c *cmChannel) take(id *cmID) (taken []*cmEvent) {
	c.queue = slices.DeleteFunc(c.queue, func(ev *cmEvent) bool {
		if ev.id == id {
			taken = append(taken, ev)
		}
		return ev.id == id
	})
	for range taken {
		if c.unsent > 0 {
			c.unsent--
			continue
		}
		_, _, _ = unix.Recvfrom(c.programs, make([]byte, 1), unix.MSG_DONTWAIT)
	}
	return taken
}

func (s *Session) getCMEvent(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	c, err := find[*cmChannel](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	ev := c.pop()
	if ev == nil {
		return answer{}, unix.EAGAIN
	}
	ev.id.reported++
	about := ev.id
	if ev.newID != nil {
		about = ev.newID
	}
	b := &protocol.CMEvent{Cookie: ev.id.cookie, Kind: ev.kind, Status: ev.status,
		PortSpace: uint32(about.space), QPType: about.qpType, Route: about.route(), Param: ev.param}
	if ev.newID != nil {
		b.NewID = ev.newID.handle
	}
	if ev.path != nil {
		b.Route.Path = *ev.path
	}
	b.Param.PrivateLen = uint8(copy(b.Private[:], ev.private))
	return answer{body: b}, nil
}
