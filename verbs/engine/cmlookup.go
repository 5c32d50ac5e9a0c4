package engine

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/verbs/protocol"
)

// udpQKey is librdmacm's RDMA_UDP_QKEY, the key of the datagrams of RDMA_PS_UDP.
const udpQKey = 0x01234567

func (id *cmID) setAddrs(local netip.Addr, port uint16, peer netip.Addr, peerPort uint16) {
	id.local, id.peer = netip.AddrPortFrom(local, port), netip.AddrPortFrom(peer, peerPort)
}

// handleLookup makes an ID for a peer's lookup of a datagram service, or rejects it.
func (m *cmManager) handleLookup(ep *transport.Endpoint, ev *rdmacm.Event) {
	l := ev.Lookup
	req := l.Request()
	port, _ := req.Service.Port()
	id := m.newRequest(ep, m.listenerOf(cmPort{spaceUDP, port}, l.Local()))
	if id == nil {
		l.Cancel()
		return
	}
	id.lookup, l.Context = l, id
	id.qpType = 4 // IBV_QPT_UD
	header, _ := rdmacm.ParseIPHeader(req.Private[:])
	id.setAddrs(l.Local(), port, l.Peer(), header.SourcePort)
	id.listener.push(&cmEvent{newID: id, kind: cmConnectRequest, private: ev.Private})
}

// handleLookupEvent applies an event to the ID of a lookup.
func (id *cmID) handleLookupEvent(ev *rdmacm.Event) {
	id.lookup.Context, id.lookup = nil, nil
	id.state = cmEnded
	id.decided()
	if ev.Kind != rdmacm.LookupResponse {
		id.push(&cmEvent{kind: cmUnreachable, status: -int32(unix.ETIMEDOUT)})
		return
	}
	if s := ev.Answer.Status; s != rdmacm.LookupFound {
		id.push(&cmEvent{kind: cmUnreachable, status: int32(s), private: ev.Private})
		return
	}
	id.state = cmConnected
	path := id.session.engine.pathTo(id.local.Addr(), id.peer.Addr(), id.tos)
	id.push(&cmEvent{kind: cmEstablished, private: ev.Private, path: &path,
		param: protocol.CMParam{QPN: uint32(ev.Answer.QPN), QKey: ev.Answer.QKey}})
}

func (id *cmID) connectLookup(ep *transport.Endpoint, private []byte) (err error) {
	id.lookup, err = id.session.engine.cm.machine.Lookup(rdmacm.Target{Local: id.local.Addr(),
		Peer: id.peer.Addr(), Service: rdmacm.UDPService(id.peer.Port()),
		SourcePort: id.local.Port(), Private: private}, ep.Loop().Now())
	if err == nil {
		id.lookup.Context, id.state = id, cmConnecting
	}
	return err
}

// answerLookup replies to a peer's lookup with a queue pair of the program.
func (id *cmID) answerLookup(rep rdmacm.SIDRREP, private []byte) error {
	if id.lookup == nil || len(private) > rdmacm.MaxAnswerPrivate {
		return transport.ErrInvalid
	}
	copy(rep.Private[:], private)
	id.lookup.Context = nil
	err := id.lookup.Answer(rep)
	id.lookup, id.state = nil, cmConnected
	return err
}

func (id *cmID) acceptLookup(p *protocol.CMParam, private []byte) error {
	key := p.QKey
	if key == 0 {
		key = udpQKey
	}
	return id.answerLookup(rdmacm.SIDRREP{Status: rdmacm.LookupFound, QPN: wire.QPN(p.QPN),
		QKey: key}, private)
}
