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
	via         [6]byte // where the peer's REQ came from; zero on the active side
	qpn         wire.QPN
	peerQPN     wire.QPN
	tid         uint64

	req REQ // sent by the active side
	rep REP // sent by the passive side

	repeat      Message // what is sent again when the deadline passes
	retriesLeft uint8
	patience    units.Duration // how long each try waits
	mraSeen     bool           // the peer asked for more time since the last try
	deadline    units.Time
	limit       units.Time // when no RTU is waited for any more
	begun       units.Time // when its REQ came
	heapIx      int        // its place among the deadlines, -1 for none
	listener    *listener  // whose backlog it is in

	// Context is the program's own.
	Context any
}

// Local returns the address of this end.
func (c *Conn) Local() netip.Addr { return c.local }

// Peer returns the address of the other end.
func (c *Conn) Peer() netip.Addr { return c.peer }

// Request returns the REQ that began the connection.
func (c *Conn) Request() REQ { return c.req }

// Accept answers a ConnectRequest with a REP. The queue pair must be in RTR by then: QPAttr says
// how.
func (c *Conn) Accept(o Offer, now units.Time) error {
	if err := c.want("accept", reqRcvd); err != nil {
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
	c.begin(repSent, &c.rep, c.req.LocalResponseTimeout, c.req.MaxCMRetries, now)
	return nil
}

// Confirm answers a ConnectResponse with an RTU: the connection is established. The queue pair
// must be in RTS by then: QPAttr says how.
func (c *Conn) Confirm() error {
	if err := c.want("confirm", repRcvd); err != nil {
		return err
	}
	c.stop()
	c.state = established
	c.sendRTU()
	return nil
}

// NotifyEstablished is for the passive side whose queue pair got a packet before the RTU came: it
// is as good as one (12.9: communication established).
func (c *Conn) NotifyEstablished(now units.Time) error {
	if err := c.want("notify", repSent); err != nil {
		return err
	}
	c.establish(now)
	return nil
}

// NotifyEstablished is Conn's, for who knows only the number of the queue pair that got a packet.
// For any other queue pair it does nothing.
func (m *Machine) NotifyEstablished(qpn wire.QPN, now units.Time) {
	for _, c := range m.deadlines { // who waits for an RTU has one
		if c.state == repSent && c.qpn == qpn {
			c.establish(now)
			return
		}
	}
}

// Reject answers a ConnectRequest or a ConnectResponse with a REJ that holds up to 148 bytes of
// private data. No event follows.
func (c *Conn) Reject(r Reason, private []byte) error {
	if err := c.want("reject", reqRcvd, repRcvd); err != nil {
		return err
	}
	if most := len(REJ{}.Private); len(private) > most {
		return fmt.Errorf("rdmacm: reject: %d bytes of private data are more than %d: %w",
			len(private), most, ErrInvalid)
	}
	c.sendREJ(r, private)
	c.machine.remove(c)
	return nil
}

// Disconnect ends the connection whatever became of it. From an established one Disconnected
// follows, once the peer agreed or does not answer; from one that waits for its RTU, TimewaitExit.
func (c *Conn) Disconnect(now units.Time) {
	switch c.state {
	case reqSent:
		c.sendREJ(Timeout, nil) // the peer shall not wait for an RTU
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
		c.begin(dreqSent, &DREQ{LocalID: c.id, RemoteID: c.remote, RemoteQPN: c.peerQPN},
			f.ResponseTimeout, f.MaxRetries, now)
	}
}

func (c *Conn) want(what string, states ...state) error {
	for _, s := range states {
		if c.state == s {
			return nil
		}
	}
	return fmt.Errorf("rdmacm: %s: the connection is in %q: %w", what, c.state, ErrState)
}

// begin enters a state in which a message is repeated until it is answered: retries times, each
// after the peer's time to answer and that of both packets on their way (12.9).
func (c *Conn) begin(s state, message Message, response, retries uint8, now units.Time) {
	c.state, c.repeat, c.retriesLeft, c.mraSeen = s, message, retries, false
	c.patience = c.patienceFor(response)
	c.limit = now.Add(duration(c.machine.config.MaxPatience))
	c.send(message)
	c.await(c.patience, now)
}

// await has the connection expire after a time, which a peer that owes an RTU cannot stretch beyond
// the limit.
func (c *Conn) await(patience units.Duration, now units.Time) {
	until := now.Add(patience)
	if c.state == repSent {
		until = units.Earlier(until, c.limit)
	}
	c.wake(until)
}

// decide enters a state in which the program decides.
func (c *Conn) decide(s state, e Event, now units.Time) {
	c.state, c.repeat = s, nil
	c.wake(now.Add(duration(c.machine.config.ServiceTimeout)))
	c.tell(e)
}

// establish is called when the peer has proved that the REQ was its own: it knows the ID or the
// queue pair that only the REP told. If another connection has its queue pair the peer has
// forgotten that one.
func (c *Conn) establish(now units.Time) {
	c.stop()
	c.settle()
	c.state, c.repeat = established, nil
	c.tell(Event{Kind: Established})
	qp := peerQPN{c.peer, c.peerQPN}
	if old := c.machine.peers[qp]; old != nil {
		old.lost(now)
	}
	c.machine.peers[qp] = c
}

// enterTimewait keeps the IDs until no packet of the connection is left: two packet lifetimes and
// the peer's delay of an ACK. The peer's queue pair is its own business: it may connect again
// at once, as with Linux.
func (c *Conn) enterTimewait(now units.Time) {
	c.settle()
	c.machine.forgetQPN(c)
	c.state, c.repeat = timewait, nil
	c.wake(now.Add(duration(min(c.QPAttr(Offer{}).Timeout, c.machine.config.MaxTimeout))))
}

func (c *Conn) tell(e Event) {
	e.Conn = c
	c.machine.events = append(c.machine.events, e)
}

func (c *Conn) send(message Message) {
	c.machine.send(Datagram{Local: c.local, Peer: c.peer, Via: c.via}, c.tid, message)
}

func (c *Conn) sendRTU() { c.send(&RTU{LocalID: c.id, RemoteID: c.remote}) }

// sendREJ rejects what came last, or gives up what we sent. Who timed out tells its GUID: with the
// local ID it names the connection to a peer of whom we know no ID (12.6.7.2).
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
