package transport

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Config configures an Endpoint.
type Config struct {
	// Port sends and receives the frames. It belongs to the endpoint.
	Port packet.Port
	// Addrs are the addresses of the endpoint, with their prefix lengths; at least one.
	Addrs []netip.Prefix
	// Gateways are the next hops toward addresses on none of the prefixes.
	Gateways []netip.Addr
	// MAC is used instead of the port's when it is not zero.
	MAC [6]byte
	// VLAN tags every frame when it is not 0.
	VLAN uint16
	// Seed makes keys, PSNs, extension tags and queue pair numbers the same in every run, for
	// simulation. Anyone who knows the seed, or has seen a few of these numbers, can compute them
	// all. 0 draws them unpredictably (package secret).
	Seed uint64
	// Repeatable makes 0 a Seed like any other.
	Repeatable bool
	// FirstQPN and QPNStep choose the numbers of queue pairs: FirstQPN and every QPNStep-th one
	// above it, so that endpoints that share an address use different residues. With a Seed the
	// numbers are assigned in order, without one they are drawn. Zero means 0x11 and 1 (0 and 1 are
	// the management QPs).
	FirstQPN, QPNStep uint32
	// Controller runs congestion control; nil means a cc.Inline.
	Controller cc.Controller
	// MaxHeld is how many of the port's buffers may hold packets behind gaps at a time; 0 means
	// 512. It should be at most half of what the port can spare, so that a loss does not
	// leave it without buffers.
	MaxHeld int
	// NewAlgorithm makes the congestion control of a queue pair whose QPInit has none; nil means
	// cc.Fixed with a window of 1 MiB.
	NewAlgorithm func() cc.Algorithm
	// TrimmedDSCP is the DSCP of packets that switches trimmed to their headers instead of dropping
	// them (docs/wire.md); 0 means that no switch does.
	TrimmedDSCP uint8
	// Trace records events (package trace); nil records none.
	Trace *trace.Ring
	// CNPInterval is the least time between two CNPs of a queue pair; 0 means cc.CNPInterval, the
	// 50 µs of DCQCN's paper. NVIDIA's NICs use 4 µs (min_time_between_cnps), on which their
	// senders rely (cc.DCQCNNIC).
	CNPInterval units.Duration
	// HugePages asks for huge pages under memory that thousands of queue pairs use at random; nil
	// means that nothing does (the transport itself makes no system calls). It takes
	// milliseconds for each page.
	HugePages func(addr, size uintptr)
}

// Endpoint is the transport of one polling core. All its methods, and those of what it creates,
// must be called by the core that polls it.
type Endpoint struct {
	port packet.Port
	info packet.Info
	mac  [6]byte
	vlan uint16
	now  units.Time

	trace *tracer // nil: no events are recorded

	rx [packet.Burst]packet.Buf
	// the queue pair of the previous frame of the burst, of which pkt is a view; nil if pkt is not
	likePrevious *QueuePair
	fetched      [packet.Burst]*QueuePair // scratch of prefetchQueuePairs
	at           uint                     // index in rx of the frame being handled
	kept         uint32                   // bits: which of rx are held, and must not be freed
	out          []outQueue
	classes      packet.Class // number of classes that the port distinguishes
	burst        int          // frames that are built before they go to the port
	onRound      func(now units.Time)
	rounds       rounds
	responseWait responseWait
	precedence   *precedence // nil: no flow needs one for its virtual priority
	bursts       int         // frames in this round's burst
	nextNeighbor units.Time  // when the neighbour table has its next deadline
	short        bool        // the port ran out of room or buffers this round
	learned      bool        // the neighbour table changed this round
	hasEvents    bool        // a completion or an event that OnRound has not seen

	qps             qpTable
	hugePages       hugePages
	regions         keyTable
	staging         *staging          // nil before the first region of another process
	made            [wire.GRHLen]byte // bytes to be placed that are not payload
	neighbors       *neigh.Table
	serviceLists    [serviceLists]serviceList
	lastServiceList int           // the last list that is in use
	waiting         []*QueuePair  // wait for a neighbour
	overrun         []*QueuePair  // lost a completion
	timersToSet     []*admission  // whose timers are to be set
	timers          *pace.Wheel   // one for each queue pair, by its flow
	limiter         *pace.Limiter // of queue pairs with a rate; nil before the first
	tokenPacer      tokenPacer

	gateDue          bool // a gate got a control message since this round's responses left
	pacedServedFirst bool // paced queue pairs went first, and sent
	readsServedFirst bool // READ responses have left since a request did
	pkt              wire.Packet
	event            cc.Event
	cc               cc.Controller
	flows            []wire.QPN // the queue pair of each flow
	gsi              *gsi       // queue pair 1; nil without

	sentBatch  sentBatch // packets of the queue pair being served
	arrived    arrival   // of the packet being handled
	ackEchoes  pool[ackEcho]
	sendTimes  pool[sendTimes]
	sendQueues map[sendQueueShape]*pool[sendQueue]
	probers    pool[prober]
	ranges     [extension.MaxRanges]extension.Range // of the TOKEN being built

	telemetries    pool[telemetry]
	bolts          pool[bolt]
	hops           [cc.MaxHops]cc.Hop // room for those in an ACK
	held           int                // buffers with packets behind gaps
	maxHeld        int
	shares         shares
	heldPkt        wire.Packet              // a held packet that is to be dropped
	spent          [packet.Burst]packet.Buf // held buffers that are to be freed
	nSpent         int
	reorderBuffers pool[reorderBuffer]
	recoveries     pool[recovery]

	trimmedDSCP  uint8
	noICRC       bool // packet.OffloadICRC
	newAlgorithm func() cc.Algorithm
	cnpInterval  units.Duration
	secrets      secrets
	nextAddr     uint64
	asyncs       []AsyncEvent
	counters     Stats
	retired      []*Retired      // by algorithm
	admissions   AdmissionTotals // of connections that have ended
}

// New creates an endpoint at time now.
func New(c Config, now units.Time) (*Endpoint, error) {
	if c.Port == nil {
		return nil, fmt.Errorf("transport: new endpoint: no port: %w", ErrInvalid)
	}
	info := c.Port.Info()
	mac := c.MAC
	if mac == [6]byte{} {
		if info.MAC == (packet.MAC{}) {
			return nil, fmt.Errorf("transport: new endpoint: port %s has no MAC address and none "+
				"was given: %w", info.Name, ErrInvalid)
		}
		mac = info.MAC
	}
	if endpoint.PathMTUFor(info.MTU) == 0 {
		return nil, fmt.Errorf("transport: new endpoint: port %s has an MTU of %d, RoCEv2 needs "+
			"%d: %w", info.Name, int64(info.MTU), int64(endpoint.MinPathMTU+endpoint.Overhead),
			ErrInvalid)
	}
	table, err := neigh.New(neigh.Config{MAC: mac, Addrs: c.Addrs, Gateways: c.Gateways,
		VLAN: c.VLAN})
	if err != nil {
		return nil, fmt.Errorf("transport: new endpoint: %w", err)
	}
	e := &Endpoint{
		port: c.Port, info: info, mac: mac, vlan: c.VLAN, now: now, neighbors: table,
		timers: pace.New(now), cc: c.Controller, newAlgorithm: c.NewAlgorithm,
		cnpInterval: c.CNPInterval, nextAddr: addressBase, maxHeld: c.MaxHeld,
		trimmedDSCP: c.TrimmedDSCP, noICRC: info.Offloads.Has(packet.OffloadICRC),
		secrets:    newSecrets(&c),
		hugePages:  hugePages{advise: c.HugePages},
		sendQueues: make(map[sendQueueShape]*pool[sendQueue]),
	}
	if e.maxHeld <= 0 {
		e.maxHeld = endpoint.DefaultHeld
	}
	if e.cnpInterval <= 0 {
		e.cnpInterval = cc.CNPInterval
	}
	if e.cc == nil {
		e.cc = &cc.Inline{}
	}
	if e.newAlgorithm == nil {
		e.newAlgorithm = func() cc.Algorithm { return &cc.Fixed{Window: endpoint.DefaultWindow} }
	}
	e.rounds.polledAt, e.rounds.ended, e.rounds.empty = now, now, now
	e.burst = burstFor(info.TxDepth)
	e.classes = packet.Class(min(max(info.Classes, 1), packet.MaxClasses))
	e.out = make([]outQueue, e.classes)
	e.lastServiceList = int(serviceRequests) + max(0, int(e.classes)-int(packet.Classes))
	e.tokenPacer.ep = e
	e.trace = newTracer(c.Trace, e)
	e.qps.init(c.FirstQPN, c.QPNStep, e.secrets.numbers)
	return e, nil
}

// offer returns the extensions of RoCEv2 that the endpoint supports, with a new tag.
func (e *Endpoint) offer() wire.Offer {
	return wire.Offer{
		Highest: wire.ExtensionVersion, Lowest: wire.ExtensionVersion,
		Tag:      uint16(e.secrets.tags.Uint64()%0xffff) + 1,
		SACKBits: extension.MaxSACKBits,
		Features: wire.FeatureProbe | wire.FeatureSACK | wire.FeatureECNEcho | wire.FeatureTiming |
			wire.FeatureINT | wire.FeatureBolt,
	}
}

// Poll runs one round at time now: it receives and handles a burst, runs the timers and lets the
// queue pairs send. It returns when it next has something to do; now means at once. Frames may
// arrive, and room in a full port become free, before the returned time.
func (e *Endpoint) Poll(now units.Time) units.Time {
	e.receiveRound(now)
	return e.transmitRound(now)
}

// receiveRound is the first half of Poll: it handles the frames that arrived and the timers that
// expired, and returns the number of frames.
func (e *Endpoint) receiveRound(now units.Time) int {
	e.now, e.short, e.learned = now, false, false
	if gap := e.rounds.beginReceive(now, &e.responseWait); e.trace != nil {
		e.trace.onGap(gap)
	}
	if e.rounds.stall > maxPhase && e.limiter != nil {
		e.limiter.Resume(now)
	}
	n := e.port.Recv(e.rx[:])
	e.likePrevious = nil
	e.prefetchQueuePairs(n)
	for i := range n {
		e.at = uint(i)
		e.receive(&e.rx[i])
	}
	e.staging.flush()
	if e.bursts = n; n < packet.Burst {
		e.rounds.onPortEmpty()
	}
	e.dropExpiredReorder(now)
	e.nextNeighbor = e.neighbors.Poll(now)
	if e.learned && len(e.waiting) > 0 {
		e.wakeWaiting()
	}
	for len(e.overrun) > 0 {
		qp := e.overrun[len(e.overrun)-1]
		e.overrun = e.overrun[:len(e.overrun)-1]
		if qp.state != Errored { // reset or destroyed since
			continue
		}
		e.async(AsyncEvent{Kind: AsyncQPFatal, QP: qp})
		qp.fail()
	}
	e.pollCongestion(now)
	if e.gsi != nil {
		e.pollManagement(now)
	}
	e.runTimers(now)
	if e.onRound != nil {
		e.hasEvents = false
		e.onRound(now)
	}
	return n
}

// transmitRound is the second half of Poll: it sends. It returns what Poll returns.
func (e *Endpoint) transmitRound(now units.Time) units.Time {
	e.now = now
	e.rounds.beginTransmit(now, &e.responseWait)
	more := e.transmit(now)
	e.freeReceived(e.bursts) // last, when the responses to them have left
	// again: what left or was posted may have set a deadline
	nextControl, changed := e.pollCongestion(now)
	if !e.short && (more || e.bursts == packet.Burst) || changed ||
		e.hasEvents && e.onRound != nil {
		return now
	}
	e.setTimers()
	next := e.earlier(units.Earlier(e.nextNeighbor, nextControl))
	if e.gsi != nil {
		// again: a new connection may have set a deadline
		next = units.Earlier(next, e.pollManagement(now))
	}
	return next
}

// pollCongestion runs the timers of congestion control and applies the decisions that they cause.
func (e *Endpoint) pollCongestion(now units.Time) (next units.Time, changed bool) {
	next = e.cc.Poll(now)
	for f, ok := e.cc.Changed(); ok; f, ok = e.cc.Changed() {
		switch qp := e.qps.find(e.flows[f]); {
		case qp == nil:
			continue
		case f != qp.cong.flowID(): // the flow of a granter, or of a former one
			if !qp.adm.onDecision(f, now) {
				continue
			}
		default:
			e.trace.onEvent(cc.TIMER)
			qp.cong.applyNewDecision()
		}
		changed = true
	}
	return next, changed
}

// isBusy reports whether any queue pair has requests, responses or unacknowledged packets.
func (e *Endpoint) isBusy() bool {
	if e.serviceLists[serviceResponses].head != nil || e.neighbors.Pending() || e.gsi != nil &&
		e.gsi.isBusy() {
		return true
	}
	for c := range e.out {
		if e.out[c].n > 0 {
			return true
		}
	}
	for _, qp := range e.qps.slots {
		if qp != nil && !qp.snd.isIdle() {
			return true
		}
	}
	return false
}

// Close gives every buffer back to the port. The endpoint must not be polled again.
func (e *Endpoint) Close() {
	e.trace.close()
	for _, qp := range e.qps.slots {
		if qp != nil {
			qp.rcv.dropReorder()
		}
	}
	e.freeSpent()
	for c := range e.out {
		q := &e.out[c]
		e.port.Free(q.bufs[:q.ready])
		q.n, q.ready = 0, 0
	}
}

// receive handles one frame.
func (e *Endpoint) receive(b *packet.Buf) {
	frame := b.Data()
	e.counters.RxFrames++
	e.counters.RxBytes += uint64(len(frame))
	e.setArrival(b.Time)
	p, qp := &e.pkt, e.likePrevious
	if qp == nil || !p.ParseLike(frame) {
		qp, e.likePrevious = nil, nil
		if err := p.Parse(frame); err != nil {
			e.countInvalid(err, frame)
			return
		}
	}
	if (!e.noICRC || hasICRC(frame)) && !p.ICRC() {
		e.counters.DropICRC++
		return
	}
	if qp == nil {
		if qp = e.connected(p); qp == nil {
			return
		}
		e.likePrevious = qp
	} else if !qp.isReceiving() {
		e.counters.DropState++
		return
	}
	qp.receive(p)
}

// connected returns the connected queue pair that p is for, after the checks of p's headers against
// it. It returns nil if p is for another kind of queue pair, which handles it, or dropped.
func (e *Endpoint) connected(p *wire.Packet) *QueuePair {
	qp := e.qps.find(p.DestQP)
	if qp == nil {
		if p.DestQP == rdmacm.QPN && e.gsi != nil {
			e.receiveManagement(p)
		} else {
			e.counters.DropUnknownQP++
		}
		return nil
	}
	info := p.Op.Info()
	switch {
	case info.Kind == wire.CNPKind:
		qp.cong.receiveCNP(p)
	case info.Transport != services[qp.Type]:
		e.counters.DropWrongService++
	case qp.Type == UD:
		if e.trace != nil {
			e.trace.onReceived(qp, p)
		}
		qp.rcv.receiveDatagram(p)
	case !qp.isReceiving():
		e.counters.DropState++
	case !p.SrcIs(&qp.tmpl):
		e.counters.DropPeer++
	case !samePartition(p.PKey, qp.pkey):
		e.counters.DropPKey++
	default:
		return qp
	}
	return nil
}

// isReceiving reports whether the state admits packets.
func (qp *QueuePair) isReceiving() bool {
	return qp.state >= ReadyToReceive && qp.state != Errored
}

// receive handles a packet of the connected peer.
func (qp *QueuePair) receive(p *wire.Packet) {
	if t := qp.ep.trace; t != nil {
		t.onReceived(qp, p)
	}
	switch info := p.Op.Info(); {
	case info.Request:
		qp.rcv.receiveRequest(p, info)
		if qp.rcv.isReordering() {
			qp.rcv.executeReordered()
		}
	case info.Kind == wire.Ack:
		qp.loss.receiveAck(p)
	case info.Kind == wire.Extension:
		qp.receiveExtension(p)
	default:
		qp.loss.receiveResponse(p, info)
	}
	qp.snd.returnQueue()
}

// services maps types of queue pairs to their families of opcodes.
var services = [...]wire.Transport{RC: wire.RC, UC: wire.UC, UD: wire.UD}

// samePartition reports whether P_Keys are equal but for their membership bit, which at least one
// side must have set: that of a full member (InfiniBand spec 10.9.1).
func samePartition(a, b uint16) bool {
	return (a^b)&0x7fff == 0 && (a|b)&0x8000 != 0
}

// countInvalid counts a frame that is not a valid RoCEv2 packet, after the neighbour table has seen
// it.
func (e *Endpoint) countInvalid(err error, frame []byte) {
	c := &e.counters
	switch {
	case errors.Is(err, wire.ErrNotRoCE):
		if e.neighbors.Receive(frame, e.now) {
			e.learned = true
		} else {
			c.DropNotOurs++
		}
	case errors.Is(err, wire.ErrTruncated):
		e.receiveTrimmed(frame)
	case errors.Is(err, wire.ErrIPHeader):
		c.DropIPHeader++
	case errors.Is(err, wire.ErrUDPLength):
		c.DropUDPLength++
	case errors.Is(err, wire.ErrBTH):
		c.DropBTH++
	case errors.Is(err, wire.ErrOpcode):
		c.DropOpcode++
	case errors.Is(err, wire.ErrExtension):
		c.DropExtension++
	default:
		c.DropLength++
	}
}

// wakeWaiting schedules the queue pairs that wait for a neighbour, after one became known.
func (e *Endpoint) wakeWaiting() {
	for _, qp := range e.waiting {
		qp.awaitsNeighbor = false
		qp.loss.neighborKnown()
		e.scheduleRequests(qp)
		e.scheduleResponses(qp)
		if qp.adm != nil {
			qp.adm.scheduleGranters(e.now)
		}
	}
	e.waiting = e.waiting[:0]
}

// awaitNeighbor makes the queue pair wait until a neighbour becomes known.
func (e *Endpoint) awaitNeighbor(qp *QueuePair) {
	if !qp.awaitsNeighbor {
		qp.awaitsNeighbor = true
		e.waiting = append(e.waiting, qp)
	}
}
