package rdmacm

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Conn is one end of a connection.
type Conn struct {
	machine     *Machine
	state       state
	active      bool
	id, remote  CommID // ours and the peer's, 0 while unknown
	local, peer netip.Addr
	via         [6]byte // source MAC address of the peer's REQ; zero on the active side
	qpn         wire.QPN
	peerQPN     wire.QPN
	tid         uint64

	req REQ // sent by the active side
	rep REP // sent by the passive side

	repeat      Message // message to retransmit when the deadline passes
	retriesLeft uint8
	tryTimeout  units.Duration // wait of each try
	mraSeen     bool           // an MRA arrived since the last try
	deadline    units.Time
	limit       units.Time // end of the wait for an RTU
	requestedAt units.Time // arrival of its REQ
	heapIndex   int        // position in the heap of deadlines, -1 for none
	listener    *listener  // listener whose backlog it is in
	lookup      *Lookup    // the exchange of a lookup; nil: a connection

	// Context is for use by the program.
	Context any
}

// Local returns the address of this end.
func (c *Conn) Local() netip.Addr { return c.local }

// Peer returns the address of the other end.
func (c *Conn) Peer() netip.Addr { return c.peer }

// Request returns the REQ of the connection.
func (c *Conn) Request() REQ { return c.req }

// Response returns the REP of the connection.
func (c *Conn) Response() REP { return c.rep }

// Accept replies to a ConnectRequest with a REP. The queue pair must be in RTR, with the attributes
// of QPAttr.
func (c *Conn) Accept(o Offer, now units.Time) error {
	if err := c.requireState("accept", reqRcvd); err != nil {
		return err
	}
	if err := o.check(len(c.rep.Private)); err != nil {
		return fmt.Errorf("rdmacm: accept: %w", err)
	}
	a, f := c.QPAttr(o), &c.machine.config
	c.qpn = o.QPN
	c.rep = REP{
		LocalID: c.id, RemoteID: c.remote, LocalQPN: o.QPN, StartingPSN: o.PSN,
		ResponderResources: uint8(a.MaxDestRdAtomic), InitiatorDepth: uint8(a.MaxRdAtomic),
		TargetACKDelay: f.ACKDelay, RNRRetryCount: o.RNRRetry, SRQ: o.SRQ, LocalGUID: f.GUID,
	}
	copy(c.rep.Private[:], o.Private)
	c.startExchange(repSent, &c.rep, c.req.LocalResponseTimeout, c.req.MaxCMRetries, now)
	return nil
}

// Confirm replies to a ConnectResponse with an RTU, which establishes the connection. The queue
// pair must be in RTS, with the attributes of QPAttr.
func (c *Conn) Confirm() error {
	if err := c.requireState("confirm", repRcvd); err != nil {
		return err
	}
	c.clearDeadline()
	c.state = established
	c.sendRTU()
	return nil
}

// NotifyEstablished signals that the passive side's queue pair received a packet before the RTU,
// which also establishes the connection (12.9: communication established).
func (c *Conn) NotifyEstablished(now units.Time) error {
	if err := c.requireState("notify", repSent); err != nil {
		return err
	}
	c.establish(now)
	return nil
}

// NotifyEstablished calls Conn.NotifyEstablished for the connection of a queue pair that waits for
// an RTU. For any other queue pair it has no effect.
func (m *Machine) NotifyEstablished(qpn wire.QPN, now units.Time) {
	for _, c := range m.deadlines { // a connection that waits for an RTU has a deadline
		if c.state == repSent && c.qpn == qpn {
			c.establish(now)
			return
		}
	}
}

// Reject replies to a ConnectRequest or a ConnectResponse with a REJ, which holds up to 148 bytes
// of private data. No event follows.
func (c *Conn) Reject(r Reason, private []byte) error {
	if err := c.requireState("reject", reqRcvd, repRcvd); err != nil {
		return err
	}
	if most := len(REJ{}.Private); len(private) > most {
		return fmt.Errorf("rdmacm: reject: %d bytes of private data: want at most %d: %w",
			len(private), most, ErrInvalid)
	}
	c.sendREJ(r, private)
	c.machine.remove(c)
	return nil
}

// Disconnect ends the connection in any state. For an established connection, Disconnected follows
// when the peer agrees or does not respond. For one that waits for its RTU, TimewaitExit follows.
func (c *Conn) Disconnect(now units.Time) {
	switch c.state {
	case reqSent:
		c.sendREJ(Timeout, nil) // so that the peer does not wait for an RTU
		c.machine.remove(c)
	case reqRcvd, repRcvd:
		c.sendREJ(ConsumerReject, nil)
		c.machine.remove(c)
	case repSent:
		c.sendREJ(ConsumerReject, nil)
		c.enterTimewait(now)
	case established:
		f := &c.machine.config
		c.tid = uint64(c.id)
		c.startExchange(dreqSent, &DREQ{LocalID: c.id, RemoteID: c.remote, RemoteQPN: c.peerQPN},
			f.ResponseTimeout, f.MaxRetries, now)
	}
}

// requireState returns an error unless the connection is in one of states.
func (c *Conn) requireState(what string, states ...state) error {
	for _, s := range states {
		if c.state == s {
			return nil
		}
	}
	return fmt.Errorf("rdmacm: %s: connection in state %q: %w", what, c.state, ErrState)
}

// startExchange enters a state in which a message is retransmitted until it is answered: up to
// retries times, each after the peer's response time and two packet lifetimes (12.9).
func (c *Conn) startExchange(s state, message Message, response, retries uint8, now units.Time) {
	c.state, c.repeat, c.retriesLeft, c.mraSeen = s, message, retries, false
	c.tryTimeout = c.tryTimeoutFor(response)
	c.limit = now.Add(duration(c.machine.config.MaxPatience))
	c.send(message)
	c.scheduleExpiry(c.tryTimeout, now)
}

// scheduleExpiry sets the connection to expire after a wait. In repSent the deadline is at most
// c.limit, however much time the peer requests.
func (c *Conn) scheduleExpiry(tryTimeout units.Duration, now units.Time) {
	until := now.Add(tryTimeout)
	if c.state == repSent {
		until = units.Earlier(until, c.limit)
	}
	c.setDeadline(until)
}

// awaitProgram enters a state in which the program decides.
func (c *Conn) awaitProgram(s state, e Event, now units.Time) {
	c.state, c.repeat = s, nil
	c.setDeadline(now.Add(duration(c.machine.config.ServiceTimeout)))
	c.notify(e)
}

// establish is called when the peer has proved that the REQ was its own: it knows the ID or the
// queue pair in our REP. If another connection has the same remote queue pair, the peer has lost
// that one.
func (c *Conn) establish(now units.Time) {
	c.clearDeadline()
	c.leaveBacklog()
	c.state, c.repeat = established, nil
	c.notify(Event{Kind: Established})
	qp := peerQPN{c.peer, c.peerQPN}
	if old := c.machine.peers[qp]; old != nil {
		old.peerLost(now)
	}
	c.machine.peers[qp] = c
}

// enterTimewait keeps the IDs until no packet of the connection is left in the network: two packet
// lifetimes and the peer's ACK delay. The peer may reuse its queue pair at once, as with Linux.
func (c *Conn) enterTimewait(now units.Time) {
	c.leaveBacklog()
	c.machine.forgetQPN(c)
	c.state, c.repeat = timewait, nil
	c.setDeadline(now.Add(duration(min(c.QPAttr(Offer{}).Timeout, c.machine.config.MaxTimeout))))
}

func (c *Conn) notify(e Event) {
	e.Conn = c
	c.machine.events = append(c.machine.events, e)
}

func (c *Conn) send(message Message) {
	c.machine.send(Datagram{Local: c.local, Peer: c.peer, Via: c.via}, c.tid, message)
}

func (c *Conn) sendRTU() { c.send(&RTU{LocalID: c.id, RemoteID: c.remote}) }

// sendREJ rejects the last message, or aborts our own request. After a timeout it carries our GUID,
// which with the local ID identifies the connection to a peer whose ID is unknown (12.6.7.2).
func (c *Conn) sendREJ(r Reason, private []byte) {
	rej := &REJ{LocalID: c.id, RemoteID: c.remote, Reason: r}
	switch c.state {
	case reqSent, repSent:
		rej.Rejected = StageOther
	case repRcvd:
		rej.Rejected = StageREP
	}
	if r == Timeout {
		rej.InfoLen = 8
		be.PutUint64(rej.Info[:], c.machine.config.GUID)
	}
	copy(rej.Private[:], private)
	c.send(rej)
}
