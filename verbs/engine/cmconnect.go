package engine

import (
	"fmt"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/verbs/protocol"
)

// parseConnect finds the ID of a request, which must be in one of some states, and its private
// data.
func (s *Session) parseConnect(r *protocol.CMConnect, states ...cmState) (id *cmID, private []byte,
	err error) {
	if id, err = find[*cmID](s, r.Handle); err == nil {
		err = id.requireState(states...)
	}
	if err == nil && r.Param.QPN > wire.PSNMask {
		err = fmt.Errorf("queue pair number %#x, want 24 bits: %w", r.Param.QPN,
			transport.ErrInvalid)
	}
	return id, r.Private[:r.Param.PrivateLen], err
}

// offerOf translates a program's parameters. Like Linux it limits retry counts to 7.
func (id *cmID) offerOf(p *protocol.CMParam, private []byte) rdmacm.Offer {
	return rdmacm.Offer{QPN: wire.QPN(p.QPN), PSN: wire.PSN(id.psn),
		ResponderResources: p.Responder, InitiatorDepth: p.Initiator,
		RetryCount: min(p.RetryCount, 7), RNRRetry: min(p.RNRRetry, 7), SRQ: p.SRQ != 0,
		Private: private}
}

func (s *Session) connectCM(ep *transport.Endpoint, r *protocol.CMConnect) (answer, error) {
	id, private, err := s.parseConnect(r, cmHasRoute)
	if err != nil {
		return answer{}, err
	}
	if id.datagrams() {
		return answer{}, id.connectLookup(ep, private)
	}
	kind := rdmacm.RC
	if id.qpType == 3 { // IBV_QPT_UC
		kind = rdmacm.UC
	}
	offer := id.offerOf(&r.Param, private)
	c, err := s.engine.cm.machine.Connect(rdmacm.Dial{Offer: offer, Local: id.local.Addr(),
		Peer: id.peer.Addr(), Service: rdmacm.TCPService(id.peer.Port()),
		SourcePort: id.local.Port(), Type: kind, MTU: s.engine.pathMTU(), TrafficClass: id.tos},
		ep.Loop().Now())
	if err != nil {
		return answer{}, err
	}
	offer.Private = nil
	id.conn, c.Context, id.offer, id.state = c, id, offer, cmConnecting
	return answer{}, nil
}

func (s *Session) acceptCM(ep *transport.Endpoint, r *protocol.CMConnect) (answer, error) {
	id, private, err := s.parseConnect(r, cmRequested)
	if err != nil {
		return answer{}, err
	}
	if id.datagrams() {
		err = id.acceptLookup(&r.Param, private)
	} else {
		offer := id.offerOf(&r.Param, private)
		if err = id.conn.Accept(offer, ep.Loop().Now()); err == nil {
			id.state = cmAccepted
		}
		offer.Private = nil
		id.offer = offer
	}
	if err == nil {
		id.cookie = r.Cookie
		id.decided()
	}
	return answer{}, err
}

// rejectCM rejects a request, or the peer's answer to ours.
func (s *Session) rejectCM(_ *transport.Endpoint, r *protocol.CMConnect) (answer, error) {
	id, private, err := s.parseConnect(r, cmRequested, cmAnswered)
	if err != nil {
		return answer{}, err
	}
	if id.datagrams() {
		err = id.answerLookup(rdmacm.SIDRREP{Status: rdmacm.LookupRejected}, private)
	} else if err = id.conn.Reject(rdmacm.ConsumerReject, private); err == nil {
		id.conn.Context, id.conn = nil, nil
	}
	if err == nil {
		id.state = cmEnded
		id.decided()
	}
	return answer{}, err
}

// establishCM confirms the peer's answer.
func (s *Session) establishCM(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmAnswered)
	}
	if err == nil {
		err = id.conn.Confirm()
	}
	if err == nil {
		id.state = cmConnected
	}
	return answer{}, err
}

// disconnectCM ends a connection. It succeeds for one that has ended, too.
func (s *Session) disconnectCM(ep *transport.Endpoint, r *protocol.Handle) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmConnecting, cmAnswered, cmRequested, cmAccepted, cmConnected,
			cmEnded)
	}
	if err == nil && id.datagrams() {
		err = fmt.Errorf("disconnect datagrams: %w", transport.ErrInvalid)
	}
	if err == nil && id.conn != nil && (id.state == cmConnected || id.state == cmAccepted) {
		id.conn.Disconnect(ep.Loop().Now())
	}
	return answer{}, err
}

// commEstablished is IBV_EVENT_COMM_EST.
const commEstablished = 4

func (s *Session) notifyCM(ep *transport.Endpoint, r *protocol.CMHandleValue) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil && (r.Value != commEstablished || id.conn == nil) {
		err = fmt.Errorf("event %d of an ID in state %q: %w", r.Value, id.state,
			transport.ErrInvalid)
	}
	if err == nil && id.state == cmAccepted {
		err = id.conn.NotifyEstablished(ep.Loop().Now())
	}
	return answer{}, err
}

// minRNRTimer is code 12, 0.64 ms. No message of the connection manager has it. Linux has code 0,
// 655 ms.
const minRNRTimer = 12

// queryCMAttr returns the attributes with which the program brings its queue pair to a state.
func (s *Session) queryCMAttr(_ *transport.Endpoint, r *protocol.CMHandleValue) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	a := &protocol.QPAttr{Handle: id.handle, State: r.Value, Mask: attrState, PortNum: 1}
	to := transport.State(r.Value)
	switch {
	case to == transport.Init:
		a.Mask |= attrPKeyIndex | attrPort
		if id.datagrams() {
			a.Mask |= attrQKey
			a.QKey = udpQKey
			break
		}
		a.Mask |= attrAccess
		if id.conn != nil {
			a.Access = accessRemoteWrite | accessRemoteRead | accessRemoteAtomic
		}
		if id.qpType == 3 { // UC has neither READ nor atomics
			a.Access &= accessRemoteWrite
		}
	case id.datagrams() && to == transport.ReadyToReceive:
	case id.datagrams() && to == transport.ReadyToSend:
		a.Mask |= attrSQPSN
		a.SQPSN = id.psn
	case to == transport.ReadyToReceive || to == transport.ReadyToSend:
		if id.conn == nil || id.state == cmConnecting {
			return answer{}, fmt.Errorf("attributes of an ID in state %q: %w", id.state,
				transport.ErrInvalid)
		}
		id.connectionAttr(a, to)
	default:
		return answer{}, fmt.Errorf("attributes for state %d: %w", r.Value, transport.ErrInvalid)
	}
	return answer{body: a}, nil
}

// connectionAttr adds the attributes that both ends agreed on.
func (id *cmID) connectionAttr(a *protocol.QPAttr, to transport.State) {
	offer := id.offer
	offer.PSN = wire.PSN(id.psn)
	q := id.conn.QPAttr(offer)
	reliable := id.qpType != 3
	if to == transport.ReadyToReceive {
		a.Mask |= attrPath | attrMTU | attrDestQPN | attrRQPSN
		a.Path = id.session.engine.pathTo(q.Source, q.IP, q.TrafficClass)
		a.Path.HopLimit, a.Path.FlowLabel = q.HopLimit, q.FlowLabel
		a.MTU, a.DestQPN, a.RQPSN = mtuCode(q.PathMTU), uint32(q.DestQPN), uint32(q.RecvPSN)
		if reliable {
			a.Mask |= attrMaxDestRdAtomic | attrMinRNRTimer
			a.MaxDestRdAtomic, a.MinRNRTimer = uint8(q.MaxDestRdAtomic), minRNRTimer
		}
		return
	}
	a.Mask |= attrSQPSN
	a.SQPSN = uint32(q.SendPSN)
	if reliable {
		a.Mask |= attrTimeout | attrRetryCount | attrRNRRetry | attrMaxRdAtomic
		a.Timeout, a.RetryCount, a.RNRRetry = q.Timeout, q.RetryCount, q.RNRRetry
		a.MaxRdAtomic = uint8(q.MaxRdAtomic)
		if id.ackTimeoutSet {
			a.Timeout = id.ackTimeout
		}
	}
}
