package transport

import (
	"net/netip"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// AddressVector is the address of a peer and the path to it (ibv_ah_attr).
type AddressVector struct {
	IP           netip.Addr
	Source       netip.Addr // an address of the endpoint; zero: chosen by IP
	TrafficClass uint8      // DSCP and ECN
	HopLimit     uint8      // 0 means 64
	FlowLabel    uint32     // IPv6
	SourcePort   uint16     // UDP; 0: chosen from the queue pair numbers, 0xC000..0xFFFF
}

// QPAttr holds the attributes of a queue pair (ibv_qp_attr). Modify uses those of the state that it
// moves to.
type QPAttr struct {
	State State // set by Query alone

	// For INIT.

	Access Access // what the peer may do through this queue pair
	PKey   uint16 // 0 means the default partition, 0xffff
	QKey   uint32 // UD
	// Algorithm replaces the congestion control of QPInit, unless nil. It is for
	// algorithms that need to know the path to the peer.
	Algorithm cc.Algorithm
	// Gate is for what the queue pair sends (cc.AllOf makes one of several), Granters are for what
	// it receives: at most one of tokens, and one of credits. Without any of them the queue pair
	// keeps those it has. The peer must agree to them (wire.FeatureToken, wire.FeatureCredit);
	// those that it does not support are dropped at RTR.
	Gate     cc.Gate
	Granters []cc.Granter
	// ConsumeOnPost makes each receive that is posted consume the oldest message that came with a
	// completion, in place of cc.Admission's Consumed. It is for programs that post the receive of
	// a message again when they are done with it. It needs a granter of credits and excludes shared
	// receive queues, and credits that plain WRITEs take.
	ConsumeOnPost bool

	// For RTR: how to reach the peer, and what to expect of it.

	Path            AddressVector
	PathMTU         units.Bytes // 256, 512, 1024, 2048 or 4096
	DestQPN         wire.QPN
	RecvPSN         wire.PSN // of the first packet from the peer; from Query, of the next
	MaxDestRdAtomic int      // the peer's READs and atomics that are answered at a time
	MinRNRTimer     uint8    // code of the time that the peer must wait after an RNR NAK
	// AnswerClass is the traffic class of ACKs and CNPs, which carry no payload and should not wait
	// behind data; 0 means the path's. They are never ECN capable.
	AnswerClass uint8
	// Extension is the outcome of QueuePair.Offer and the peer's offer (wire.Agree). The zero value
	// is plain RoCEv2, with go-back-N; FeatureSACK gives a reliable connection selective repeat.
	Extension wire.Agreement

	// For RTS: how to send.

	SendPSN     wire.PSN // of our first packet; from Query, of the next
	Timeout     uint8    // 4.096 µs · 2^Timeout; 0 means no timeout
	RetryCount  uint8    // 0..7
	RNRRetry    uint8    // 0..7; 7 means no limit
	MaxRdAtomic int      // our READs and atomics outstanding at a time
	// RTOLow and RTOHigh replace Timeout if they are not zero: RTOLow while fewer than three
	// packets are outstanding, RTOHigh otherwise (IRN section 3.1; its experiments use 100 µs and
	// 320 µs).
	RTOLow, RTOHigh units.Duration
	// MaxInFlight bounds the window of congestion control, for instance by the path's
	// bandwidth-delay product (IRN section 3.2); 0 means no bound.
	MaxInFlight units.Bytes
	// Reordering is how much later than a packet behind it a packet may arrive without counting as
	// lost: networks with priorities or several paths reorder. It requires selective repeat; 0
	// takes each gap as a loss at once.
	Reordering units.Duration
	// Class is the class in which requests leave: ClassData, the zero value, or one from
	// packet.Classes on, if the port has it. Queue pairs of a higher class go first.
	Class packet.Class

	// UnackedPSN is the PSN of the oldest unacknowledged packet, or SendPSN if there is none. Query
	// alone sets it.
	UnackedPSN wire.PSN
}

// Query returns the state, the keys, the path MTU, the peer's number, the class, and where the
// sequence numbers are (ibv_query_qp). It leaves the other attributes zero.
func (qp *QueuePair) Query() QPAttr {
	return QPAttr{State: qp.state, Access: qp.access, PKey: qp.pkey, QKey: qp.qkey,
		PathMTU: units.Bytes(qp.mtu), DestQPN: qp.dest, RecvPSN: qp.rcv.expected(),
		SendPSN: qp.snd.nextPSN(), UnackedPSN: qp.loss.oldest(), Class: qp.class}
}

// SetAccess changes what the peer may do through the queue pair, in any state
// (IBV_QP_ACCESS_FLAGS).
func (qp *QueuePair) SetAccess(a Access) { qp.access = a }

// SetQKey changes the key of datagrams, in any state (IBV_QP_QKEY).
func (qp *QueuePair) SetQKey(key uint32) { qp.qkey = key }

// SetMinRNRTimer changes the time that the peer must wait after an RNR NAK, in any state
// (IBV_QP_MIN_RNR_TIMER). It returns ErrInvalid for a code above 31.
func (qp *QueuePair) SetMinRNRTimer(code uint8) error {
	if code > 31 {
		return qp.invalid("modify", "min_rnr_timer %d is not in 0..31", code)
	}
	qp.rcv.setMinRNRTimer(code)
	return nil
}
