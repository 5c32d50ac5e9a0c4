package transport

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// QPType is the transport service of a queue pair.
type QPType uint8

// The services of RoCEv2 that goroce has.
const (
	RC QPType = iota // reliable connection
	UC               // unreliable connection
	UD               // unreliable datagram
)

func (t QPType) String() string {
	switch t {
	case RC:
		return "RC"
	case UC:
		return "UC"
	case UD:
		return "UD"
	}
	return fmt.Sprintf("QPType(%d)", uint8(t))
}

// State is the state of a queue pair (InfiniBand spec 10.3.1).
type State uint8

// The states, in the order they are passed.
const (
	Reset State = iota
	Init
	ReadyToReceive
	ReadyToSend
	SQDrained
	Errored
)

func (s State) String() string {
	names := [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "ERR"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// QPInit says what a new queue pair shall have (ibv_qp_init_attr).
type QPInit struct {
	Type           QPType
	PD             *ProtectionDomain
	SendCQ, RecvCQ *CompletionQueue
	SRQ            *SharedReceiveQueue // nil: a receive queue of its own
	MaxSendWR      int
	MaxRecvWR      int
	MaxSendSGE     int // 0 means 1
	MaxRecvSGE     int // 0 means 1
	MaxInline      int // bytes
	SignalAll      bool

	// Algorithm is the flow's congestion control; nil takes the endpoint's.
	Algorithm cc.Algorithm
}

// requester is what a packet or an ACK of our own requests touches.
type requester struct {
	sndNxt wire.PSN // of the next packet to leave
	una    wire.PSN // oldest not yet acknowledged
	sndMax wire.PSN // one past the highest ever sent

	done   uint32 // work requests completed: the oldest outstanding one
	next   uint32 // work request whose packets leave now
	begun  uint32 // one past the newest of which a packet has left
	posted uint32 // one past the newest
	packet uint32 // next packet within `next`
	mask   uint32
	reach  int32 // PSNs that may be outstanding

	inFlight units.Bytes
	window   units.Bytes
	recovery *recovery // since a loss, toward a peer that acknowledges selectively
	stamps   *stamps   // when what is in flight left, for an algorithm that hears of delays

	retries, retriesLeft uint8
	rnrRetries, rnrLeft  uint8
	rnrWait              bool // waiting out an RNR NAK
	// only the oldest packet leaves: its answer will say whether the peer is ready
	probing bool
	gapSeen bool // already went back for the missing response
	hold    bool // congestion control says that nothing leaves
	few     bool // the timer runs for few packets
	nakSeen bool // already went back for una at the responder's word
	unasked bool // the newest packet asked for no ACK
	// something was posted where nothing was left, and congestion control was not told
	fresh bool

	reordering uint32 // ns that a packet may come later than one behind it

	rtoAt units.Time // when the oldest packet counts as lost
	rnrAt units.Time

	timeout    units.Duration // RTO_high
	timeoutFew units.Duration // RTO_low: when fewer than fewPackets are outstanding
	rate       units.BitRate
}

// responder is what a packet of the peer's requests touches.
type responder struct {
	ePSN    wire.PSN // expected next
	msn     uint32   // messages completed, 24 bits
	nakPSN  wire.PSN
	answer  answer // ACK or NAK owed
	nakCode uint8
	nakked  bool    // a NAK for ePSN is out: stay silent until it comes
	message message // in progress
	ahead   *ahead  // what came behind a gap

	held     bool   // recv holds a receive taken for a message that has not ended
	tos      uint8  // of ACKs and CNPs: no switch marks them
	received uint32 // bytes of the message so far
	remote   uint64 // next address of a WRITE in progress
	left     uint32 // bytes of the WRITE still to come
	rkey     uint32
	recv     recvWQE
}

// answer is the acknowledgement that a responder owes.
type answer uint8

const (
	answerNone answer = iota
	answerAck
	answerRNR
	answerNak
)

// message is what kind of multi-packet request is in progress.
type message uint8

const (
	messageNone message = iota
	messageSend
	messageWrite
	messageSkip // UC: the rest of a message whose beginning was lost
)

// QueuePair is one end of a connection, or of datagrams. Create it with Endpoint.CreateQP and
// bring it up with Modify… in the order of State, or all at once with Connect.
type QueuePair struct {
	Num  wire.QPN
	Type QPType

	// What every packet touches comes first, so that it shares cache lines: with many queue pairs
	// each packet's lines come from memory.
	state           State
	waits           bool // for a neighbour
	signalAll       bool
	access          Access
	mtuShift        uint8
	minRNRTimer     uint8
	commEstablished bool
	class           packet.Class // of requests
	// its congestion control hears switches, and the peer plays its part
	bolt           bool
	wants          cc.EventSet // the events its algorithm hears
	pkey           uint16
	peerAway       peerAway
	mtu            uint32
	flow           cc.Flow
	neighborGen    uint32
	neighbor       *neigh.Entry
	ep             *Endpoint
	links          [turns]turnLink // places in the endpoint's lists
	adm            *admission      // nil without gate and granter
	req            requester
	send           []sendWQE
	pd             *ProtectionDomain
	sendCQ, recvCQ *CompletionQueue
	tmpl           wire.Template
	resp           responder
	limits         qpLimits
	stats          QPStats

	recv   *receiveQueue
	beside *besideSend
	asked  asked    // our READs and atomics
	reads  readRing // the peer's
	dest   wire.QPN
	qkey   uint32

	// selective repeat: PSNs behind a gap that either side looks at; 0 without
	sackBits         uint16
	sendTag, recvTag uint16 // of the extension
	ecnEcho          bool   // ACKs tell of marks, instead of CNPs
	timing           bool   // ACKs tell how long packets that ask for it were here
	marks            *marks // once a packet has come with one
	prober           *prober
	posted           units.Bytes // in work requests that have not completed

	// Context is the program's own.
	Context any
}

type qpLimits struct {
	sendWR   uint32
	sendSGE  uint8
	recvSGE  uint8
	inline   uint16
	ownRecvs bool
	hops     uint8  // whose telemetry congestion control reads
	reads    uint8  // features: what may be in an XDATA of the peer
	probes   bool   // either side may send a PROBE
	inFlight uint32 // bytes; 0 is no limit
}

// QPStats counts what happened to one queue pair.
type QPStats struct {
	PacketsSent, BytesSent   uint64 // requests, retransmissions included; payload bytes
	Retransmitted            uint64 // packets sent again
	Timeouts                 uint64
	SequenceNaks             uint64 // received
	RNRNaks                  uint64 // received
	CNPs                     uint64 // received
	MarkedCE                 uint64 // data packets that arrived with congestion experienced
	DuplicateRequests        uint64
	PacketsReceived, BytesIn uint64 // requests and responses accepted; payload bytes
}

// State answers the state of the queue pair.
func (qp *QueuePair) State() State { return qp.state }

// Stats answers its counters.
func (qp *QueuePair) Stats() QPStats { return qp.stats }

// PathMTU answers the payload bytes of a full packet; 0 before RTR.
func (qp *QueuePair) PathMTU() units.Bytes { return units.Bytes(qp.mtu) }

// PSNs is where the sequence numbers of a queue pair are (ibv_query_qp's sq_psn and rq_psn).
type PSNs struct {
	Send wire.PSN // of the next packet to leave
	// of the oldest packet that waits for its acknowledgement; Send when none does
	Unacknowledged wire.PSN
	Expected       wire.PSN // of the next packet from the peer
}

// PSNs returns where the sequence numbers are.
func (qp *QueuePair) PSNs() PSNs {
	return PSNs{Send: qp.req.sndNxt, Unacknowledged: qp.req.una, Expected: qp.resp.ePSN}
}

// Endpoint answers whom it belongs to.
func (qp *QueuePair) Endpoint() *Endpoint { return qp.ep }

// SendRoom answers how many work requests PostSend would take now.
func (qp *QueuePair) SendRoom() int {
	return int(qp.limits.sendWR - (qp.req.posted - qp.req.done))
}

// CreateQP makes a queue pair in the RESET state (ibv_create_qp).
func (e *Endpoint) CreateQP(init QPInit) (*QueuePair, error) {
	init.MaxSendSGE, init.MaxRecvSGE = max(init.MaxSendSGE, 1), max(init.MaxRecvSGE, 1)
	if err := init.validate(e); err != nil {
		return nil, err
	}
	num, err := e.qps.freeNumber()
	if err != nil {
		return nil, err
	}
	depth := ringSize(max(init.MaxSendWR, 1))
	qp := &QueuePair{
		Num: num, Type: init.Type, ep: e, pd: init.PD, sendCQ: init.SendCQ, recvCQ: init.RecvCQ,
		signalAll: init.SignalAll,
		send:      make([]sendWQE, depth),
		beside:    newBesideSend(depth, &init),
		limits: qpLimits{sendWR: uint32(init.MaxSendWR), sendSGE: uint8(init.MaxSendSGE),
			recvSGE: uint8(init.MaxRecvSGE), inline: uint16(init.MaxInline)},
	}
	qp.req.mask = uint32(depth - 1)
	if init.SRQ != nil {
		qp.recv, qp.beside.srq = &init.SRQ.queue, init.SRQ
		init.SRQ.users++
	} else {
		qp.recv = newReceiveQueue(init.MaxRecvWR, init.MaxRecvSGE)
		qp.limits.ownRecvs = true
	}
	if n := qp.recv.perSlot; n > 0 {
		qp.beside.receive = make([]SGE, n)
	}
	algorithm := init.Algorithm
	if algorithm == nil {
		algorithm = e.newAlgorithm()
	}
	qp.control(algorithm)
	init.PD.users++
	init.SendCQ.users++
	init.RecvCQ.users++
	e.qps.add(qp)
	return qp, nil
}

// Control gives a queue pair another congestion control than the one it was made with: one that
// could not be made before the way to the peer was known. That is before RTR, or what is marked and
// asked of the peer would not fit.
func (qp *QueuePair) Control(a cc.Algorithm) error {
	if err := qp.want("another congestion control", Reset, Init); err != nil {
		return err
	}
	qp.unpace()
	qp.unrank()
	qp.ep.cc.Remove(qp.flow)
	qp.control(a)
	return nil
}

func (qp *QueuePair) control(a cc.Algorithm) {
	e := qp.ep
	qp.flow = e.addFlow(a, qp)
	e.rank(qp.flow, a)
	qp.wants = e.cc.Wants(qp.flow)
	qp.limits.hops = 0
	if t, ok := a.(cc.Telemeter); ok {
		qp.limits.hops = uint8(min(t.Telemetry(), wire.MaxINTRecords))
	}
	qp.heedDecision()
}

// addFlow begins a flow of the queue pair's.
func (e *Endpoint) addFlow(a cc.Algorithm, qp *QueuePair) cc.Flow {
	f := e.cc.Add(a, e.now)
	for len(e.flows) <= int(f) {
		e.flows = append(e.flows, 0)
	}
	e.flows[f] = qp.Num
	return f
}

// Offer answers what the queue pair's endpoint can do beyond RoCEv2, as Endpoint.Offer, less what
// its congestion control has no use for: one that waits for CNPs hears none from a peer that echoes
// marks. With a gate or a granter it can speak of tokens, or of credits.
func (qp *QueuePair) Offer() wire.Offer {
	o := qp.ep.Offer()
	if qp.wants.Has(cc.CNP) && !qp.wants.Has(cc.ECN) {
		o.Features &^= wire.FeatureECNEcho
	}
	if a := qp.adm; a != nil {
		if a.tokens {
			o.Features |= wire.FeatureToken
		}
		a.credits.offer(&o)
	}
	return o
}

// Snapshot answers the state of the queue pair's congestion control; nothing when its Controller
// does not show it.
func (qp *QueuePair) Snapshot() cc.Snapshot {
	if o, ok := qp.ep.cc.(cc.Observer); ok {
		return o.Snapshot(qp.flow)
	}
	return cc.Snapshot{}
}

func (init *QPInit) validate(e *Endpoint) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("transport: create QP: "+format+": %w", append(args, ErrInvalid)...)
	}
	switch {
	case init.Type > UD:
		return bad("type %v", init.Type)
	case !init.PD.serves(e):
		return bad(noPD)
	case !init.SendCQ.serves(e) || !init.RecvCQ.serves(e):
		return bad("it needs two completion queues of this endpoint that are not destroyed, or " +
			"one twice")
	case init.SRQ != nil && !init.SRQ.serves(init.PD):
		return bad("its shared receive queue is destroyed, or not of its protection domain")
	case init.MaxSendWR < 0 || init.MaxSendWR > MaxQueueDepth || init.MaxRecvWR < 0 ||
		init.MaxRecvWR > MaxQueueDepth:
		return bad("queue depths %d and %d are not in 0..%d", init.MaxSendWR, init.MaxRecvWR,
			MaxQueueDepth)
	case init.MaxSendSGE > MaxSGE || init.MaxRecvSGE > MaxSGE:
		return bad("%d and %d scatter/gather elements are more than %d", init.MaxSendSGE,
			init.MaxRecvSGE, MaxSGE)
	case init.MaxInline < 0 || init.MaxInline > MaxInline:
		return bad("%d bytes inline are not in 0..%d", init.MaxInline, MaxInline)
	}
	return nil
}

// Destroy ends the queue pair without completions for what is still posted (ibv_destroy_qp).
func (qp *QueuePair) Destroy() {
	e := qp.ep
	if e.qps.find(qp.Num) != qp {
		return
	}
	qp.clear()
	e.qps.remove(qp)
	qp.unrank()
	e.cc.Remove(qp.flow)
	qp.pd.users--
	qp.sendCQ.users--
	qp.recvCQ.users--
	if s := qp.beside.srq; s != nil {
		s.users--
	}
}

// clear forgets everything in progress, as RESET does.
func (qp *QueuePair) clear() {
	qp.state = Reset
	qp.ep.timers.Stop(uint32(qp.flow))
	qp.unpace()
	qp.endRecovery()
	qp.dropAhead()
	qp.dropMarks()
	qp.dropStamps()
	qp.dropProber()
	qp.dropAdmission()
	qp.leavePeer()
	qp.peerAway = 0
	qp.sackBits, qp.sendTag, qp.recvTag, qp.ecnEcho, qp.timing = 0, 0, 0, false, false
	qp.limits.reads, qp.limits.probes, qp.bolt = 0, false, false
	qp.req = requester{mask: qp.req.mask, window: qp.req.window}
	qp.resp = responder{}
	qp.posted = 0
	qp.asked.clear()
	qp.reads.clear()
	qp.commEstablished = false
	if qp.neighbor != nil {
		qp.ep.neighbors.Release(qp.neighbor)
		qp.neighbor, qp.neighborGen = nil, 0
	}
	if qp.limits.ownRecvs {
		qp.recv.clear()
	}
}
