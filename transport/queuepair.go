package transport

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// QPType is the transport service of a queue pair.
type QPType uint8

// The supported transport services.
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

// The states, in the order in which a queue pair passes them.
const (
	Reset State = iota
	Init
	ReadyToReceive
	ReadyToSend
	SQDrained
	// SQErrored is the state of a UC or UD queue pair after a request of its send queue has failed:
	// further requests complete with StatusWRFlushErr, and it still receives.
	SQErrored
	Errored
)

func (s State) String() string {
	names := [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// QPInit has the attributes of a new queue pair (ibv_qp_init_attr).
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

	// Algorithm is the flow's congestion control; nil means the endpoint's NewAlgorithm.
	Algorithm cc.Algorithm
}

// QueuePair is one end of a connection, or sends and receives datagrams (ibv_qp). Create it with
// Endpoint.CreateQP and bring it up with Modify, or all at once with Connect.
//
// It consists of parts, each of which owns its state: no method of one part touches the fields of
// another (docs/architecture.md). The fields of QueuePair itself are its identity and attributes:
// management (state.go) writes them, every part reads them.
type QueuePair struct {
	Num  wire.QPN
	Type QPType

	state           State
	mtuShift        uint8
	class           packet.Class // of requests
	mtu             uint32
	neighborGen     uint32
	neighbor        *neigh.Entry
	ep              *Endpoint
	adm             *admission         // nil without a gate and granters
	nextRequester   *QueuePair         // the next one in a list of those with requests to send
	queued          [serviceKinds]bool // it is in a list of those with responses, requests
	awaitsNeighbor  bool               // it waits for a neighbour
	commEstablished bool
	sackBits        uint16 // selective repeat: how many PSNs behind a gap either side tracks
	pkey            uint16

	snd  sender
	loss lossRecovery
	cong congestion
	tmpl wire.Template

	nextResponder    *QueuePair // the next one in the list of those with responses to send
	dest             wire.QPN
	qkey             uint32
	sendTag, recvTag uint16 // of the extension
	access           Access
	Context          any // for the program's use

	rcv  receiver
	cold struct {
		snd  senderCold
		loss lossCold
		cong congestionCold
	}

	pd *ProtectionDomain
}

// QPCounters counts what happened to one queue pair, or to several.
type QPCounters struct {
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

// QPStats is what happened to one queue pair, and the state of its controls.
type QPStats struct {
	QPCounters

	// Congestion is the state of its congestion control, zero if the Controller does not show it.
	Congestion cc.Snapshot
	// Admission is how what was posted had to wait for tokens or credits, and for nothing else.
	Admission struct {
		Active      bool           // it has a gate or a granter, which the peer agreed to
		Blocked     uint64         // times
		BlockedTime units.Duration // together
		Messages    int            // posted, of which nothing has left
	}
}

// State returns the state of the queue pair.
func (qp *QueuePair) State() State { return qp.state }

// Stats returns its counters, and the state of its congestion control and admission.
func (qp *QueuePair) Stats() QPStats {
	var s QPStats
	qp.snd.addStats(&s)
	qp.loss.addStats(&s)
	qp.cong.addStats(&s)
	qp.rcv.addStats(&s)
	if o, ok := qp.ep.cc.(cc.Observer); ok && qp.ep.qps.find(qp.Num) == qp {
		s.Congestion = o.Snapshot(qp.cong.flowID())
	}
	s.Admission = qp.adm.stats()
	return s
}

// Endpoint returns the endpoint of the queue pair.
func (qp *QueuePair) Endpoint() *Endpoint { return qp.ep }

// SendRoom returns how many more work requests PostSend accepts now.
func (qp *QueuePair) SendRoom() int {
	return qp.snd.room()
}

// SourcePort returns the UDP source port of its packets, if the attributes name none: both ends
// compute the same from their queue pair numbers.
func (qp *QueuePair) SourcePort() uint16 { return sourcePort(qp.Num, qp.dest) }

// CreateQP creates a queue pair in the RESET state (ibv_create_qp).
func (e *Endpoint) CreateQP(init QPInit) (*QueuePair, error) {
	init.MaxSendSGE, init.MaxRecvSGE = max(init.MaxSendSGE, 1), max(init.MaxRecvSGE, 1)
	if err := init.validate(e); err != nil {
		return nil, err
	}
	num, err := e.qps.freeNumber()
	if err != nil {
		return nil, err
	}
	qp := &QueuePair{Num: num, Type: init.Type, ep: e, pd: init.PD}
	qp.snd.init(&init)
	qp.rcv.init(&init)
	algorithm := init.Algorithm
	if algorithm == nil {
		algorithm = e.newAlgorithm()
	}
	qp.bindAlgorithm(algorithm)
	init.PD.users++
	init.SendCQ.users++
	init.RecvCQ.users++
	e.qps.add(qp)
	e.hugePages.onCreated(qp, &e.qps)
	return qp, nil
}

// replaceAlgorithm gives the queue pair another congestion control. After INIT it would be too late
// for what packets are marked with and what is agreed with the peer.
func (qp *QueuePair) replaceAlgorithm(a cc.Algorithm) {
	qp.cong.removeFromLimiter()
	qp.cong.unrank()
	qp.ep.cc.Remove(qp.cong.flowID())
	qp.bindAlgorithm(a)
}

func (qp *QueuePair) bindAlgorithm(a cc.Algorithm) {
	qp.cong.bind(qp.ep.addFlow(a, qp), a)
}

// addFlow adds a flow of the queue pair to congestion control.
func (e *Endpoint) addFlow(a cc.Algorithm, qp *QueuePair) cc.Flow {
	f := e.cc.Add(a, e.now)
	for len(e.flows) <= int(f) {
		e.flows = append(e.flows, 0)
	}
	e.flows[f] = qp.Num
	return f
}

// Offer returns what the queue pair supports beyond RoCEv2, without what its
// congestion control cannot use. An algorithm that takes CNPs would get none from a peer that
// echoes marks. A gate or a granter adds tokens or credits.
func (qp *QueuePair) Offer() wire.Offer {
	o := qp.ep.offer()
	if qp.cong.expects(cc.CNP) && !qp.cong.expects(cc.ECN) {
		o.Features &^= wire.FeatureECNEcho
	}
	qp.adm.offer(&o)
	return o
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
		return bad("want two completion queues of this endpoint that are not destroyed; they " +
			"may be the same")
	case init.SRQ != nil && !init.SRQ.serves(init.PD):
		return bad("its shared receive queue is destroyed, or not of its protection domain")
	case init.MaxSendWR < 0 || init.MaxSendWR > endpoint.MaxQueueDepth || init.MaxRecvWR < 0 ||
		init.MaxRecvWR > endpoint.MaxQueueDepth:
		return bad("queue depths %d and %d are not in 0..%d", init.MaxSendWR, init.MaxRecvWR,
			endpoint.MaxQueueDepth)
	case init.MaxSendSGE > endpoint.MaxSGE || init.MaxRecvSGE > endpoint.MaxSGE:
		return bad("%d and %d scatter/gather elements are more than %d", init.MaxSendSGE,
			init.MaxRecvSGE, endpoint.MaxSGE)
	case init.MaxInline < 0 || init.MaxInline > endpoint.MaxInline:
		return bad("%d bytes inline are not in 0..%d", init.MaxInline, endpoint.MaxInline)
	}
	return nil
}

// Destroy destroys the queue pair, without completions for what is still posted (ibv_destroy_qp).
func (qp *QueuePair) Destroy() {
	e := qp.ep
	if e.qps.find(qp.Num) != qp {
		return
	}
	qp.retire()
	qp.clear()
	e.qps.remove(qp)
	qp.cong.unrank()
	e.cc.Remove(qp.cong.flowID())
	qp.pd.users--
	qp.snd.release()
	qp.rcv.release()
}

// clear drops everything in progress, as RESET does.
func (qp *QueuePair) clear() {
	qp.setState(Reset)
	qp.ep.timers.Stop(uint32(qp.cong.flowID()))
	qp.dropAdmission()
	qp.loss.clear()
	qp.rcv.clear()
	qp.cong.clear()
	qp.snd.clear()
	qp.sackBits, qp.sendTag, qp.recvTag = 0, 0, 0
	qp.commEstablished = false
	if qp.neighbor != nil {
		qp.ep.neighbors.Release(qp.neighbor)
		qp.neighbor, qp.neighborGen = nil, 0
	}
}

// receiveExtension handles a packet of our extension.
func (qp *QueuePair) receiveExtension(p *wire.Packet) {
	c := &qp.ep.counters
	switch {
	case p.Op == wire.SRC:
		qp.cong.receiveSRC(p)
	case qp.recvTag == 0 || p.Op == wire.XDATA && !qp.rcv.expectsXDATA() || p.Op <= wire.ProbeAck &&
		!qp.cong.hasProbes(),
		(p.Op == wire.RTS || p.Op == wire.Token) && !qp.adm.hasTokens(),
		p.Op == wire.CREDIT && !qp.adm.hasCredits():
		c.DropUnnegotiated++
	case p.XCH().Tag.Get() != qp.recvTag:
		c.DropTag++
	case p.Op == wire.XDATA:
		qp.rcv.receiveXDATA(p)
	case p.Op == wire.Probe:
		qp.cong.receiveProbe(p)
	case p.Op == wire.ProbeAck:
		qp.cong.receiveProbeAck(p)
	case p.Op == wire.RTS || p.Op == wire.Token:
		qp.adm.receiveControl(p)
	case p.Op == wire.CREDIT:
		qp.adm.receiveCredit(p)
	default:
		qp.loss.receiveAck(p)
	}
}

// maxPSNsInFlight returns how many PSNs may be outstanding.
func (qp *QueuePair) maxPSNsInFlight() int32 {
	if qp.isSelective() {
		return int32(qp.sackBits)
	}
	return maxOutstanding
}

// isSelective reports whether the peer and we have agreed on selective repeat.
func (qp *QueuePair) isSelective() bool { return qp.sackBits > 0 }
