package engine

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/protocol"
)

// portSpace is a value of enum rdma_port_space.
type portSpace uint32

const (
	spaceIPoIB portSpace = 0x0002
	spaceTCP   portSpace = 0x0106
	spaceUDP   portSpace = 0x0111
)

// cmState is where an ID is between its creation and the end of its connection.
type cmState uint8

const (
	cmIdle cmState = iota
	cmBound
	cmResolvingAddr
	cmHasAddr
	cmHasRoute
	cmConnecting // the request is on its way
	cmAnswered   // active: the program has to confirm
	cmRequested  // passive: the program has to accept
	cmAccepted   // passive: or, of a datagram service, at its end
	cmConnected
	cmEnded
	cmListening
)

func (st cmState) String() string {
	return [...]string{"idle", "bound", "resolving the address", "address resolved",
		"route resolved", "connecting", "answered", "requested", "accepted", "connected", "ended",
		"listening"}[st]
}

// cmID is an rdma_cm_id.
type cmID struct {
	session *Session
	handle  uint32
	cookie  uint64 // 0: of a request that the program has not accepted yet
	channel *cmChannel
	space   portSpace
	qpType  uint32

	state       cmState
	local, peer netip.AddrPort
	reported    uint32     // events that the program has fetched
	deadline    units.Time // of the address resolution

	psn    uint32
	conn   *rdmacm.Conn
	lookup *rdmacm.Lookup // of a datagram service
	offer  rdmacm.Offer

	listener *cmID // of a request that waits for the program
	backlog  int   // of a listener
	waiting  int   // requests of a listener that wait for the program

	tos           uint8
	reuse, v6only bool
	ackTimeout    uint8
	ackTimeoutSet bool
	reservedPort  bool // in cmManager.ports
}

func (id *cmID) datagrams() bool { return id.space != spaceTCP }

func (id *cmID) requireState(states ...cmState) error {
	for _, st := range states {
		if id.state == st {
			return nil
		}
	}
	return fmt.Errorf("ID in state %q: %w", id.state, transport.ErrInvalid)
}

func (s *Session) createCMID(ep *transport.Endpoint, r *protocol.CMCreateID) (answer, error) {
	space := portSpace(r.PortSpace)
	if space != spaceTCP && space != spaceUDP && space != spaceIPoIB || r.Cookie == 0 {
		return answer{}, fmt.Errorf("port space %#x: %w", r.PortSpace, unix.EPROTONOSUPPORT)
	}
	c, err := find[*cmChannel](s, r.Channel)
	if err != nil {
		return answer{}, err
	}
	id, err := s.addCMID(ep, c, space, r.QPType)
	if err != nil {
		return answer{}, err
	}
	id.cookie = r.Cookie
	return answer{body: &protocol.Handle{Handle: id.handle}}, nil
}

func (s *Session) addCMID(ep *transport.Endpoint, c *cmChannel, space portSpace, qpType uint32) (
	*cmID, error) {
	id := &cmID{session: s, channel: c, space: space, qpType: qpType, psn: ep.Setup().RandomPSN()}
	id.offer.ResponderResources, id.offer.InitiatorDepth = 255, 255
	var err error
	if id.handle, err = s.add(id); err != nil {
		return nil, err
	}
	c.ids[id] = struct{}{}
	return id, nil
}

func (s *Session) destroyCMID(ep *transport.Endpoint, r *protocol.Handle) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	s.removeCMID(ep, id)
	return answer{body: &protocol.CMReported{Events: id.reported}}, nil
}

// removeCMID ends what the ID does, and drops its events.
func (s *Session) removeCMID(ep *transport.Endpoint, id *cmID) {
	m := &s.engine.cm
	for _, ev := range id.channel.take(id) {
		if ev.newID != nil { // a request that the program has not seen
			s.removeCMID(ep, ev.newID)
		}
	}
	id.decided()
	if id.conn != nil {
		id.conn.Context = nil
		id.conn.Disconnect(ep.Loop().Now())
		id.conn = nil
	}
	if id.lookup != nil {
		id.lookup.Context = nil
		id.lookup.Cancel()
		id.lookup = nil
	}
	m.release(id)
	delete(id.channel.ids, id)
	delete(s.objects, id.handle)
}

// decided makes room in the backlog of the ID's listener.
func (id *cmID) decided() {
	if id.listener != nil {
		id.listener.waiting--
		id.listener = nil
	}
}

func (s *Session) migrateCMID(_ *transport.Endpoint, r *protocol.CMHandleValue) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	to, err := find[*cmChannel](s, r.Value)
	if err != nil {
		return answer{}, err
	}
	if from := id.channel; from != to {
		events := from.take(id)
		delete(from.ids, id)
		id.channel = to
		to.ids[id] = struct{}{}
		for _, ev := range events {
			to.push(ev)
		}
	}
	return answer{body: &protocol.CMReported{Events: id.reported}}, nil
}

// setCMOption sets an option of librdmacm: level RDMA_OPTION_ID.
func (s *Session) setCMOption(_ *transport.Endpoint, r *protocol.CMOption) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	const levelID = 0
	switch {
	case r.Level != levelID:
		return answer{}, fmt.Errorf("option level %d: %w", r.Level, unix.ENOSYS)
	case r.Name == 0: // RDMA_OPTION_ID_TOS
		id.tos = uint8(r.Value)
	case r.Name == 1: // RDMA_OPTION_ID_REUSEADDR
		id.reuse = r.Value != 0
	case r.Name == 2: // RDMA_OPTION_ID_AFONLY
		id.v6only = r.Value != 0
	case r.Name == 3: // RDMA_OPTION_ID_ACK_TIMEOUT
		if r.Value > 31 {
			return answer{}, fmt.Errorf("ACK timeout %d, want 0 to 31: %w", r.Value,
				transport.ErrInvalid)
		}
		id.ackTimeout, id.ackTimeoutSet = uint8(r.Value), true
	default:
		return answer{}, fmt.Errorf("option %d: %w", r.Name, unix.ENOSYS)
	}
	return answer{}, nil
}

func (s *Session) queryCMID(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	route := id.route()
	return answer{body: &route}, nil
}

// route describes the addresses of an ID.
func (id *cmID) route() protocol.CMRoute {
	e := id.session.engine
	r := protocol.CMRoute{Local: cmAddrOf(id.local), Peer: cmAddrOf(id.peer),
		MTU: mtuCode(e.pathMTU())}
	if a := id.local.Addr(); a.IsValid() && !a.IsUnspecified() {
		r.Bound = 1
	}
	if id.peer.Addr().IsValid() {
		r.Path = e.pathTo(id.local.Addr(), id.peer.Addr(), id.tos)
	}
	return r
}
