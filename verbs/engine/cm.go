package engine

import (
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/protocol"
)

// cmManager is the connection manager of all sessions: librdmacm's IDs on a Machine.
type cmManager struct {
	machine   *rdmacm.Machine
	ports     map[cmPort][]*cmID
	resolving []*cmID // wait for the Ethernet address of their peer
	nextPort  uint16
}

// maxCMConns is the most connections of all sessions, and of lookups at either end.
const maxCMConns = 16384

// startCM makes endpoint 0 the owner of queue pair 1.
func (e *Engine) startCM() error {
	mac := e.host.Info(0).MAC
	machine, err := rdmacm.New(rdmacm.Config{GUID: guidOf(mac), MaxConns: maxCMConns})
	if err != nil {
		return err
	}
	e.cm = cmManager{machine: machine, ports: make(map[cmPort][]*cmID)}
	doErr := e.do(func(ep *transport.Endpoint) { err = ep.Setup().Manage(machine) })
	if err == nil {
		err = doErr
	}
	return err
}

// guidOf returns the EUI-64 of a MAC address (RFC 4291 appendix A).
func guidOf(mac [6]byte) (guid uint64) {
	for _, b := range [8]byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]} {
		guid = guid<<8 | uint64(b)
	}
	return guid
}

func cmHandlers() map[protocol.Op]handler {
	return map[protocol.Op]handler{
		protocol.OpCMCreateChannel:  on((*Session).createCMChannel),
		protocol.OpCMDestroyChannel: on((*Session).destroyCMChannel),
		protocol.OpCMGetEvent:       on((*Session).getCMEvent),
		protocol.OpCMCreateID:       on((*Session).createCMID),
		protocol.OpCMDestroyID:      on((*Session).destroyCMID),
		protocol.OpCMMigrateID:      on((*Session).migrateCMID),
		protocol.OpCMBind:           on((*Session).bindCMID),
		protocol.OpCMResolveAddr:    on((*Session).resolveCMAddr),
		protocol.OpCMResolveRoute:   on((*Session).resolveCMRoute),
		protocol.OpCMListen:         on((*Session).listenCM),
		protocol.OpCMConnect:        on((*Session).connectCM),
		protocol.OpCMAccept:         on((*Session).acceptCM),
		protocol.OpCMReject:         on((*Session).rejectCM),
		protocol.OpCMEstablish:      on((*Session).establishCM),
		protocol.OpCMDisconnect:     on((*Session).disconnectCM),
		protocol.OpCMNotify:         on((*Session).notifyCM),
		protocol.OpCMQPAttr:         on((*Session).queryCMAttr),
		protocol.OpCMQuery:          on((*Session).queryCMID),
		protocol.OpCMSetOption:      on((*Session).setCMOption),
	}
}

// push sends an event to the program, unless it does not know the ID yet.
func (id *cmID) push(ev *cmEvent) {
	if id.cookie != 0 {
		ev.id = id
		id.channel.push(ev)
	}
}

// step dispatches the machine's events.
func (m *cmManager) step(ep *transport.Endpoint, now units.Time) (busy bool) {
	if len(m.resolving) > 0 {
		busy = m.pollResolving(ep, now)
	}
	for ev, ok := m.machine.Event(); ok; ev, ok = m.machine.Event() {
		busy = true
		switch ev.Kind {
		case rdmacm.ConnectRequest:
			m.handleRequest(ep, &ev)
		case rdmacm.LookupRequest:
			m.handleLookup(ep, &ev)
		default:
			if ev.Lookup != nil {
				if id, ok := ev.Lookup.Context.(*cmID); ok {
					id.handleLookupEvent(&ev)
				}
			} else if id, ok := ev.Conn.Context.(*cmID); ok {
				id.handleEvent(&ev)
			}
		}
	}
	return busy
}

// handleRequest makes an ID for a request, or rejects it.
func (m *cmManager) handleRequest(ep *transport.Endpoint, ev *rdmacm.Event) {
	c := ev.Conn
	req := c.Request()
	port, _ := req.Service.Port()
	id := m.newRequest(ep, m.listenerOf(cmPort{spaceTCP, port}, c.Local()))
	if id == nil {
		_ = c.Reject(rdmacm.NoResources, nil) // it is new, so that it can be rejected
		return
	}
	id.conn, c.Context = c, id
	id.qpType = 2 // IBV_QPT_RC
	if req.Type == rdmacm.UC {
		id.qpType = 3
	}
	header, _ := rdmacm.ParseIPHeader(req.Private[:]) // the machine has checked it
	id.setAddrs(c.Local(), port, c.Peer(), header.SourcePort)
	id.tos = req.Primary.TrafficClass
	id.listener.push(&cmEvent{newID: id, kind: cmConnectRequest, private: ev.Private,
		param: protocol.CMParam{Responder: req.InitiatorDepth, Initiator: req.ResponderResources,
			RetryCount: req.RetryCount, RNRRetry: req.RNRRetryCount, SRQ: boolByte(req.SRQ),
			FlowControl: boolByte(req.EndToEndFlowControl), QPN: uint32(req.LocalQPN)}})
}

// newRequest makes the ID of a request, nil if the listener has no room for it.
func (m *cmManager) newRequest(ep *transport.Endpoint, listener *cmID) *cmID {
	if listener == nil || listener.waiting >= listener.backlog {
		return nil
	}
	id, err := listener.session.addCMID(ep, listener.channel, listener.space, 0)
	if err != nil {
		return nil
	}
	id.state, id.listener = cmRequested, listener
	listener.waiting++
	return id
}

// handleEvent applies an event to the ID of a connection.
func (id *cmID) handleEvent(ev *rdmacm.Event) {
	out := &cmEvent{private: ev.Private}
	switch ev.Kind {
	case rdmacm.ConnectResponse:
		rep := id.conn.Response()
		id.state, out.kind = cmAnswered, cmConnectResponse
		out.param = protocol.CMParam{Responder: rep.InitiatorDepth,
			Initiator: rep.ResponderResources, RNRRetry: rep.RNRRetryCount,
			FlowControl: boolByte(rep.EndToEndFlowControl), SRQ: boolByte(rep.SRQ),
			QPN: uint32(rep.LocalQPN)}
	case rdmacm.Established:
		id.state, out.kind = cmConnected, cmEstablished
	case rdmacm.Rejected:
		id.state, out.kind, out.status = cmEnded, cmRejected, int32(ev.Reason)
	case rdmacm.Unreachable:
		id.state, out.kind, out.status = cmEnded, cmUnreachable, -int32(unix.ETIMEDOUT)
	case rdmacm.Disconnected:
		id.state, out.kind = cmEnded, cmDisconnected
	case rdmacm.TimewaitExit:
		out.kind = cmTimewaitExit
		id.conn.Context, id.conn = nil, nil
	default:
		return
	}
	if id.state == cmEnded {
		id.decided()
	}
	id.push(out)
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
