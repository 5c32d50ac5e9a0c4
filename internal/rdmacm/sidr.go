package rdmacm

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// LookupStatus is the result of a lookup of a datagram service (12.11.1.2).
type LookupStatus uint8

// The results that apply to queue pairs of a program.
const (
	LookupFound      LookupStatus = 0
	LookupNoService  LookupStatus = 1
	LookupRejected   LookupStatus = 2
	LookupNoResource LookupStatus = 3
)

// The private data of lookups, in bytes.
const (
	MaxLookupPrivate = len(SIDRREQ{}.Private) - ipHeaderLen
	MaxAnswerPrivate = len(SIDRREP{}.Private)
)

// SIDRREQ looks up the queue pair of a service for datagrams (12.11.1.1).
type SIDRREQ struct {
	RequestID CommID
	PKey      uint16
	Service   ServiceID
	Private   [216]byte
}

func (*SIDRREQ) attribute() attribute { return attrSIDRREQ }

func (m *SIDRREQ) put(b []byte) {
	be.PutUint32(b, uint32(m.RequestID))
	be.PutUint16(b[4:], m.PKey)
	be.PutUint64(b[8:], uint64(m.Service))
	copy(b[16:], m.Private[:])
}

func (m *SIDRREQ) get(b []byte) {
	m.RequestID, m.PKey = CommID(be.Uint32(b)), be.Uint16(b[4:])
	m.Service = ServiceID(be.Uint64(b[8:]))
	copy(m.Private[:], b[16:])
}

// SIDRREP is the response to a SIDRREQ (12.11.1.2).
type SIDRREP struct {
	RequestID CommID
	Status    LookupStatus
	InfoLen   uint8 // valid bytes of Info
	QPN       wire.QPN
	Service   ServiceID
	QKey      uint32
	Info      [72]byte
	Private   [136]byte
}

func (*SIDRREP) attribute() attribute { return attrSIDRREP }

func (m *SIDRREP) put(b []byte) {
	be.PutUint32(b, uint32(m.RequestID))
	b[4], b[5] = uint8(m.Status), m.InfoLen
	put24(b[8:], m.QPN, 0)
	be.PutUint64(b[12:], uint64(m.Service))
	be.PutUint32(b[20:], m.QKey)
	copy(b[24:], m.Info[:])
	copy(b[96:], m.Private[:])
}

func (m *SIDRREP) get(b []byte) {
	m.RequestID, m.Status, m.InfoLen = CommID(be.Uint32(b)), LookupStatus(b[4]), b[5]
	qpn, _ := get24(b[8:])
	m.QPN, m.Service, m.QKey = wire.QPN(qpn), ServiceID(be.Uint64(b[12:])), be.Uint32(b[20:])
	copy(m.Info[:], b[24:])
	copy(m.Private[:], b[96:])
}

// Lookup is one end of the lookup of a datagram service.
type Lookup struct {
	conn *Conn // its deadline, and what is sent
	req  SIDRREQ
	key  peerID // of a peer's request

	// Context is for use by the program.
	Context any
}

// Local returns the address of this end.
func (l *Lookup) Local() netip.Addr { return l.conn.local }

// Peer returns the address of the other end.
func (l *Lookup) Peer() netip.Addr { return l.conn.peer }

// Request returns the request.
func (l *Lookup) Request() *SIDRREQ { return &l.req }

// Target is what Lookup looks for.
type Target struct {
	Local, Peer netip.Addr
	Service     ServiceID
	SourcePort  uint16
	Private     []byte // up to MaxLookupPrivate bytes for the peer's program
}

// lookups are the lookups of a Machine that are not answered.
type lookups struct {
	ours   map[CommID]*Lookup
	theirs map[peerID]*Lookup
}

// Lookup asks a peer for the queue pair of a datagram service. LookupResponse or Unreachable
// follows.
func (m *Machine) Lookup(t Target, now units.Time) (*Lookup, error) {
	local, peer := normalizeIP(t.Local), normalizeIP(t.Peer)
	switch {
	case !local.IsValid() || !peer.IsValid() || local.Is4() != peer.Is4():
		return nil, fmt.Errorf("rdmacm: lookup: addresses %v and %v: %w", t.Local, t.Peer,
			ErrInvalid)
	case len(t.Private) > MaxLookupPrivate:
		return nil, fmt.Errorf("rdmacm: lookup: %d bytes of private data: want at most %d: %w",
			len(t.Private), MaxLookupPrivate, ErrInvalid)
	case len(m.lookups.ours) >= m.config.MaxConns || m.eventsFull():
		return nil, fmt.Errorf("rdmacm: lookup: %d lookups: %w", len(m.lookups.ours), ErrLimit)
	}
	l := m.newLookup(local, peer)
	c := l.conn
	for c.id == 0 || m.lookups.ours[c.id] != nil {
		c.id = CommID(m.ids.Uint32())
	}
	m.lookups.ours[c.id] = l
	l.req = SIDRREQ{RequestID: c.id, PKey: 0xffff, Service: t.Service}
	IPHeader{SourcePort: t.SourcePort, Source: local, Destination: peer}.Put(l.req.Private[:])
	copy(l.req.Private[ipHeaderLen:], t.Private)
	c.tid = uint64(c.id)
	c.startExchange(reqSent, &l.req, m.config.ResponseTimeout, m.config.MaxRetries, now)
	return l, nil
}

func (m *Machine) newLookup(local, peer netip.Addr) *Lookup {
	l := &Lookup{conn: &Conn{machine: m, local: local, peer: peer, heapIndex: -1}}
	l.conn.lookup = l
	return l
}

// Cancel ends a lookup: no event follows. A peer's request is rejected.
func (l *Lookup) Cancel() {
	if l.conn.state == reqRcvd {
		_ = l.Answer(SIDRREP{Status: LookupRejected})
		return
	}
	l.remove()
}

// Answer replies to a LookupRequest, with the status, the queue pair, its key and the private data
// of rep.
func (l *Lookup) Answer(rep SIDRREP) error {
	if err := l.conn.requireState("answer", reqRcvd); err != nil {
		return err
	}
	rep.RequestID, rep.Service = l.req.RequestID, l.req.Service
	l.conn.send(&rep)
	l.remove()
	return nil
}

func (l *Lookup) remove() {
	c := l.conn
	c.clearDeadline()
	c.state = closed
	if t := &c.machine.lookups; t.ours[c.id] == l {
		delete(t.ours, c.id)
	} else if t.theirs[l.key] == l {
		delete(t.theirs, l.key)
	}
}

// expire ends a lookup that the peer, or our program, has not answered.
func (l *Lookup) expire() {
	m := l.conn.machine
	if l.conn.state == reqRcvd {
		l.Cancel()
	}
	m.events = append(m.events, Event{Kind: Unreachable, Lookup: l, Reason: Timeout})
	l.remove()
}

// receiveSIDRREQ handles a peer's lookup. After the reply nothing is kept: a repeated request is a
// new one, as with Linux.
func (m *Machine) receiveSIDRREQ(local, peer netip.Addr, tid uint64, req *SIDRREQ, now units.Time) {
	key := peerID{peer, req.RequestID}
	if m.lookups.theirs[key] != nil {
		m.counters.Duplicates++
		return
	}
	header, err := ParseIPHeader(req.Private[:])
	listener := m.listeners[req.Service]
	if err != nil || header.Source.Is4() != peer.Is4() {
		m.counters.Malformed++
		return
	}
	l := m.newLookup(local, peer)
	l.conn.tid, l.conn.via, l.conn.state, l.req, l.key = tid, m.via, reqRcvd, *req, key
	if listener == nil || m.eventsFull() || len(m.lookups.theirs) >= m.config.MaxConns {
		m.counters.Refused++
		status := LookupNoResource
		if listener == nil {
			status = LookupNoService
		}
		_ = l.Answer(SIDRREP{Status: status})
		return
	}
	m.lookups.theirs[key] = l
	l.conn.setDeadline(now.Add(duration(m.config.ServiceTimeout)))
	m.events = append(m.events, Event{Kind: LookupRequest, Lookup: l,
		Private: l.req.Private[ipHeaderLen:]})
}

func (m *Machine) receiveSIDRREP(peer netip.Addr, rep *SIDRREP) {
	l := m.lookups.ours[rep.RequestID]
	if l == nil || l.conn.peer != peer || rep.Service != l.req.Service {
		m.counters.Unexpected++
		return
	}
	l.remove()
	m.events = append(m.events, Event{Kind: LookupResponse, Lookup: l, Answer: rep,
		Private: rep.Private[:]})
}
