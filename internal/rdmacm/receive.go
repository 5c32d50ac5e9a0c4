package rdmacm

import (
	"net/netip"

	"github.com/goroce/goroce/units"
)

// Receive handles the payload of a datagram with QKey from the queue pair 1 of peer to that of
// local, an address of ours. Invalid datagrams are counted and dropped.
func (m *Machine) Receive(local, peer netip.Addr, mad []byte, now units.Time) {
	m.ReceiveVia([6]byte{}, local, peer, mad, now)
}

// ReceiveVia is Receive for a datagram with a known source MAC address. Replies carry it
// (Datagram.Via), so that a peer that only sent a request need not be resolved.
func (m *Machine) ReceiveVia(via [6]byte, local, peer netip.Addr, mad []byte, now units.Time) {
	m.via = via
	tid, message, err := Parse(mad)
	if err != nil {
		m.counters.Malformed++
		return
	}
	local, peer = normalizeIP(local), normalizeIP(peer)
	switch x := message.(type) {
	case *REQ:
		m.receiveREQ(local, peer, tid, x, now)
	case *REP:
		m.receiveREP(local, peer, tid, x, now)
	case *MRA:
		m.receiveMRA(peer, x, now)
	case *RTU:
		if c := m.find(peer, x.RemoteID, x.LocalID); c != nil && c.state == repSent {
			c.establish(now)
		} else {
			m.counters.Unexpected++
		}
	case *REJ:
		m.receiveREJ(peer, x, now)
	case *DREQ:
		m.receiveDREQ(local, peer, tid, x, now)
	case *DREP:
		if c := m.find(peer, x.RemoteID, x.LocalID); c != nil && c.state == dreqSent {
			c.notify(Event{Kind: Disconnected})
			c.enterTimewait(now)
		} else {
			m.counters.Unexpected++
		}
	case *SIDRREQ:
		m.receiveSIDRREQ(local, peer, tid, x, now)
	case *SIDRREP:
		m.receiveSIDRREP(peer, x)
	case *LAP:
		if c := m.find(peer, x.RemoteID, x.LocalID); c != nil && c.state == established {
			m.reply(local, peer, tid, &APR{LocalID: c.id, RemoteID: c.remote,
				Status: alternateUnsupported})
		} else {
			m.counters.Unexpected++
		}
	default: // an APR, although we send no LAP
		m.counters.Unexpected++
	}
}

// find returns the connection with these IDs and this peer, or nil.
func (m *Machine) find(peer netip.Addr, ours, theirs CommID) *Conn {
	if c := m.conns[ours]; c != nil && c.peer == peer && c.remote == theirs {
		return c
	}
	return nil
}

func (m *Machine) receiveREQ(local, peer netip.Addr, tid uint64, req *REQ, now units.Time) {
	if c := m.requests[peerID{peer, req.LocalID}]; c != nil {
		c.receiveAgain(local, tid, req)
		return
	}
	private := req.Private
	header, err := ParseIPHeader(private[:])
	l := m.listeners[req.Service]
	var reason Reason
	switch {
	case l == nil:
		reason = InvalidServiceID
	case req.Type > UC || req.ExtendedType != 0:
		reason = InvalidServiceType
	case req.Primary.RemoteGID != local:
		reason = InvalidGID
	case req.LocalID == 0 || req.LocalQPN == 0 || req.Primary.LocalGID != peer:
		reason = Unsupported
	case req.MTU < 1 || req.MTU > 5:
		reason = InvalidMTU
	case err != nil || header.Source.Is4() != peer.Is4():
		reason = ConsumerReject
	case !m.admit(l, peer):
		reason = NoResources
	}
	if reason != 0 {
		m.refuse(local, peer, tid, req, reason)
		return
	}
	c := m.add(local, peer)
	c.remote, c.peerQPN, c.tid, c.req, c.via = req.LocalID, req.LocalQPN, tid, *req, m.via
	m.requests[peerID{peer, c.remote}] = c
	c.joinBacklog(l, now)
	c.awaitProgram(reqRcvd, Event{Kind: ConnectRequest, Private: private[ipHeaderLen:]}, now)
}

// receiveAgain handles a REQ whose ID has a connection.
func (c *Conn) receiveAgain(local netip.Addr, tid uint64, req *REQ) {
	m := c.machine
	if req.LocalQPN != c.peerQPN || req.StartingPSN != c.req.StartingPSN ||
		req.LocalGUID != c.req.LocalGUID {
		// The peer restarted and reuses the ID, or the REQ is forged: the connection is kept.
		m.refuse(local, c.peer, tid, req, StaleConnection)
		return
	}
	switch c.state {
	case reqRcvd:
		m.counters.Duplicates++
		c.send(&MRA{LocalID: c.id, RemoteID: c.remote, Received: StageREQ,
			ServiceTimeout: m.config.ServiceTimeout})
	case repSent:
		m.counters.Duplicates++
		c.send(&c.rep)
	case timewait:
		m.refuse(local, c.peer, tid, req, StaleConnection)
	default:
		m.counters.Unexpected++
	}
}

// refuse rejects a REQ without a connection.
func (m *Machine) refuse(local, peer netip.Addr, tid uint64, req *REQ, r Reason) {
	m.counters.Refused++
	rej := &REJ{RemoteID: req.LocalID, Rejected: StageREQ, Reason: r}
	if r == InvalidGID {
		putGID(rej.Info[:], local)
		rej.InfoLen = 16
	}
	m.reply(local, peer, tid, rej)
}

// peerLost is called when the peer has proved that it no longer has the connection.
func (c *Conn) peerLost(now units.Time) {
	if c.state == established {
		c.Disconnect(now)
	}
}

func (m *Machine) receiveREP(local, peer netip.Addr, tid uint64, rep *REP, now units.Time) {
	c := m.conns[rep.RemoteID]
	if c == nil || !c.active || c.peer != peer || c.state != reqSent && c.remote != rep.LocalID {
		m.counters.Unexpected++
		m.reply(local, peer, tid, &REJ{LocalID: rep.RemoteID, RemoteID: rep.LocalID,
			Rejected: StageREP, Reason: InvalidCommID})
		return
	}
	switch c.state {
	case reqSent:
		if rep.LocalID == 0 || rep.LocalQPN == 0 {
			m.counters.Unexpected++
			return
		}
		c.remote, c.rep, c.peerQPN = rep.LocalID, *rep, rep.LocalQPN
		qp := peerQPN{peer, c.peerQPN}
		if old := m.peers[qp]; old != nil {
			c.state = repRcvd
			c.sendREJ(StaleConnection, nil)
			c.notify(Event{Kind: Rejected, Reason: StaleConnection})
			m.remove(c)
			old.peerLost(now)
			return
		}
		m.peers[qp] = c
		private := rep.Private
		c.awaitProgram(repRcvd, Event{Kind: ConnectResponse, Private: private[:]}, now)
	case repRcvd:
		m.counters.Duplicates++
		c.send(&MRA{LocalID: c.id, RemoteID: c.remote, Received: StageREP,
			ServiceTimeout: m.config.ServiceTimeout})
	case established:
		m.counters.Duplicates++
		c.sendRTU()
	case timewait:
		m.counters.Unexpected++
		m.reply(local, peer, tid, &REJ{LocalID: c.id, RemoteID: c.remote, Rejected: StageREP,
			Reason: StaleConnection})
	default: // our DREQ is on the way
		m.counters.Unexpected++
	}
}

// receiveMRA grants the peer the time that it requests, once per try.
func (m *Machine) receiveMRA(peer netip.Addr, x *MRA, now units.Time) {
	c := m.conns[x.RemoteID]
	switch {
	case c == nil || c.peer != peer || c.mraSeen:
	case c.state == reqSent && x.Received == StageREQ,
		c.state == repSent && x.Received == StageREP && c.remote == x.LocalID:
		c.mraSeen = true
		c.scheduleExpiry(c.tryTimeoutFor(x.ServiceTimeout), now)
		return
	}
	m.counters.Unexpected++
}

func (m *Machine) receiveREJ(peer netip.Addr, rej *REJ, now units.Time) {
	var c *Conn
	if rej.RemoteID == 0 { // from an active side that did not receive our REP
		if c = m.requests[peerID{peer, rej.LocalID}]; c != nil && c.state != reqRcvd &&
			c.state != repSent {
			c = nil
		}
	} else if c = m.conns[rej.RemoteID]; c != nil && (c.peer != peer || c.remote != rej.LocalID &&
		c.state != reqSent) {
		c = nil
	}
	if c == nil {
		m.counters.Unexpected++
		return
	}
	e := Event{Kind: Rejected, Reason: rej.Reason, Private: rej.Private[:]}
	switch c.state {
	case reqSent, reqRcvd, repRcvd:
		c.notify(e)
		m.remove(c)
	case repSent:
		c.notify(e)
		c.enterTimewait(now)
	case established, dreqSent:
		e.Kind = Disconnected
		c.notify(e)
		c.enterTimewait(now)
	default:
		m.counters.Unexpected++
	}
}

func (m *Machine) receiveDREQ(local, peer netip.Addr, tid uint64, x *DREQ, now units.Time) {
	c := m.find(peer, x.RemoteID, x.LocalID)
	if c != nil {
		if x.RemoteQPN != c.qpn {
			m.counters.Unexpected++
			return
		}
		switch c.state {
		case repSent, established, dreqSent: // in repSent the RTU was lost
			c.notify(Event{Kind: Disconnected})
			c.enterTimewait(now)
		case timewait:
			m.counters.Duplicates++
		default:
			m.counters.Unexpected++
			return
		}
	} else {
		m.counters.Unexpected++
	}
	// An unknown connection has already ended.
	m.reply(local, peer, tid, &DREP{LocalID: x.RemoteID, RemoteID: x.LocalID})
}
