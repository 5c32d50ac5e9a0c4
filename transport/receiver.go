package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiver is the part of a queue pair that owns the peer's requests: their sequence and execution,
// the reorder buffer, and the responses to them.
type receiver struct {
	ePSN       wire.PSN       // expected next
	msn        uint32         // messages completed, 24 bits
	pendingAck ackKind        // ACK or NAK to send
	nakSent    bool           // a NAK for ePSN is out: send no other until it arrives
	message    message        // in progress
	hasReceive bool           // wqe is the receive of a message that has not ended
	received   uint32         // bytes of the message so far
	reorder    *reorderBuffer // packets behind a gap

	packetsReceived, bytesReceived uint64

	pd    *ProtectionDomain
	cq    *CompletionQueue
	queue *receiveQueue

	wqe       recvWQE
	remote    uint64 // next address of a WRITE in progress
	remaining uint32 // bytes of the WRITE still to come
	rkey      uint32

	nakPSN      wire.PSN
	nakCode     uint8
	tos         uint8 // of ACKs and CNPs, which are not ECN capable
	xdata       uint8 // features that an XDATA of the peer may use
	minRNRTimer uint8
	ownQueue    bool
	reads       readRing // the peer's READs and atomics
	sges        []SGE    // elements 1.. of the receive in progress
	srq         *SharedReceiveQueue
	duplicates  uint64
}

// ackKind is the kind of acknowledgement that a responder has to send.
type ackKind uint8

const (
	ackNone ackKind = iota
	ackPositive
	ackRNR
	ackNak
)

// message is the kind of multi-packet request in progress.
type message uint8

const (
	messageNone message = iota
	messageSend
	messageWrite
	messageSkip // UC: the rest of a message whose beginning was lost
)

func (rcv *receiver) init(init *QPInit) {
	rcv.pd, rcv.cq = init.PD, init.RecvCQ
	if init.SRQ != nil {
		rcv.queue, rcv.srq = &init.SRQ.queue, init.SRQ
		init.SRQ.users++
	} else {
		rcv.queue, rcv.ownQueue = newReceiveQueue(init.MaxRecvWR, init.MaxRecvSGE), true
	}
	if n := rcv.queue.perSlot; n > 0 {
		rcv.sges = make([]SGE, n)
	}
}

// clear drops what the peer has sent, and the receives of a queue of its own.
func (rcv *receiver) clear() {
	rcv.dropReorder()
	rcv.reads.clear()
	*rcv = receiver{
		pd: rcv.pd, cq: rcv.cq, queue: rcv.queue, ownQueue: rcv.ownQueue, sges: rcv.sges,
		srq:   rcv.srq,
		reads: rcv.reads, minRNRTimer: rcv.minRNRTimer,
		packetsReceived: rcv.packetsReceived, bytesReceived: rcv.bytesReceived,
		duplicates: rcv.duplicates,
	}
	if rcv.ownQueue {
		rcv.queue.clear()
	}
}

// expected returns the PSN of the next packet in sequence.
func (rcv *receiver) expected() wire.PSN { return rcv.ePSN }

// ackTOS returns the traffic class of ACKs and CNPs.
func (rcv *receiver) ackTOS() uint8 { return rcv.tos }

// begin applies the attributes of INIT→RTR.
func (rcv *receiver) begin(a *QPAttr) {
	rcv.ePSN, rcv.minRNRTimer = a.RecvPSN, a.MinRNRTimer
	class := a.AnswerClass
	if class == 0 {
		class = a.Path.TrafficClass
	}
	rcv.tos = class &^ wire.ECNMask
	rcv.reads.size(a.MaxDestRdAtomic)
}

// agree applies the features that the peer agreed to.
func (rcv *receiver) agree(f wire.Features) {
	rcv.xdata = uint8(f & (wire.FeatureINT | wire.FeatureBolt | wire.FeatureToken))
}

// expectsXDATA reports whether the peer may send XDATAs.
func (rcv *receiver) expectsXDATA() bool { return rcv.xdata != 0 }

// holds reports whether the packet psn, which is less than a window ahead, is in the reorder
// buffer.
func (rcv *receiver) holds(psn wire.PSN) bool {
	return rcv.reorder != nil && rcv.reorder.present.has(psn)
}

// isReordering reports whether there is a reorder buffer.
func (rcv *receiver) isReordering() bool { return rcv.reorder != nil }

// hasPendingAck reports whether an ACK or NAK is the next packet to leave.
func (rcv *receiver) hasPendingAck() bool {
	return rcv.pendingAck != ackNone && rcv.reads.pending == 0
}

// onResponse counts a response to a request of ours; read is true if its bytes count.
func (rcv *receiver) onResponse(n int, read bool) {
	rcv.packetsReceived++
	if read {
		rcv.bytesReceived += uint64(n)
	}
}

// post adds a receive.
func (rcv *receiver) post(rr *RecvRequest) error { return rcv.queue.post(rr) }

// isShared reports whether receives come from a shared queue.
func (rcv *receiver) isShared() bool { return !rcv.ownQueue }

// depth returns how many receives the queue has room for.
func (rcv *receiver) depth() int { return int(rcv.queue.limit) }

// flush completes the receives with an error, in order.
func (rcv *receiver) flush() {
	if rcv.hasReceive {
		rcv.hasReceive = false
		rcv.completeRecv(rcv.wqe.id, StatusWRFlushErr, false)
	}
	if !rcv.ownQueue {
		qp := rcv.conn()
		qp.ep.async(AsyncEvent{Kind: AsyncLastWQEReached, QP: qp})
		return
	}
	for w := rcv.queue.pop(); w != nil; w = rcv.queue.pop() {
		rcv.completeRecv(w.id, StatusWRFlushErr, false)
	}
}

// release ends the use of the completion queue and the shared receive queue.
func (rcv *receiver) release() {
	rcv.cq.users--
	if rcv.srq != nil {
		rcv.srq.users--
	}
}

// receivedSoFar returns how many packets and bytes were accepted.
func (rcv *receiver) receivedSoFar() (packets uint64, total units.Bytes) {
	return rcv.packetsReceived, units.Bytes(rcv.bytesReceived)
}

func (rcv *receiver) addStats(s *QPStats) {
	s.DuplicateRequests = rcv.duplicates
	s.PacketsReceived, s.BytesIn = rcv.packetsReceived, rcv.bytesReceived
}

func (rcv *receiver) setMinRNRTimer(code uint8) { rcv.minRNRTimer = code }
