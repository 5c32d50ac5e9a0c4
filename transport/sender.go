package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// sender is the part of a queue pair that owns the send queue: what was posted, which packet leaves
// next, and the READs and atomics that are outstanding.
type sender struct {
	q      *sendQueue
	sndNxt wire.PSN // of the next packet to leave
	done   uint32   // the oldest work request that has not completed
	next   uint32   // the work request whose packets leave now
	begun  uint32   // one past the newest work request of which a packet has left
	posted uint32   // one past the newest work request
	packet uint32   // the next packet of next

	packetsSent, bytesSent uint64
}

// senderCold is the state of the sender that no packet touches.
type senderCold struct {
	queues    *pool[sendQueue]
	cq        *CompletionQueue
	pending   units.Bytes // bytes of work requests that have not completed
	limit     uint32
	maxInline uint16
	maxSGE    uint8
	signalAll bool
	reads     *outstandingReads // nil before RTS
}

func (snd *sender) init(init *QPInit) {
	snd.q = noRequests
	*snd.cold() = senderCold{
		queues: snd.conn().ep.sendQueuesOf(newSendQueueShape(init)),
		cq:     init.SendCQ, limit: uint32(init.MaxSendWR), maxInline: uint16(init.MaxInline),
		maxSGE: uint8(init.MaxSendSGE), signalAll: init.SignalAll,
	}
}

// clear drops what was posted.
func (snd *sender) clear() {
	snd.sndNxt, snd.done, snd.next, snd.begun, snd.posted, snd.packet = 0, 0, 0, 0, 0, 0
	snd.cold().pending = 0
	snd.cold().reads.clear()
	snd.returnQueue()
}

// at returns the work request with index i.
func (snd *sender) at(i uint32) *sendWQE { return &snd.q.wqes[snd.slot(i)] }

// slot returns the place of the work request with index i in the send queue.
func (snd *sender) slot(i uint32) uint32 { return i & uint32(len(snd.q.wqes)-1) }

// oldest returns the oldest work request that has not completed.
func (snd *sender) oldest() *sendWQE { return snd.at(snd.done) }

// isIdle reports whether everything posted has completed.
func (snd *sender) isIdle() bool { return snd.done == snd.posted }

// hasNext reports whether a packet is to be sent for the first time, or again after going back.
func (snd *sender) hasNext() bool { return snd.next != snd.posted }

// hasBegun reports whether packets have left of a work request that has not completed.
func (snd *sender) hasBegun() bool { return snd.done != snd.begun }

// nextPSN returns the PSN of the next packet to leave.
func (snd *sender) nextPSN() wire.PSN { return snd.sndNxt }

// sentSoFar returns how many packets and bytes of requests left, retransmissions included.
func (snd *sender) sentSoFar() (packets uint64, total units.Bytes) {
	return snd.packetsSent, units.Bytes(snd.bytesSent)
}

// isAtReads reports whether the next request waits for READs or atomics that are outstanding.
func (snd *sender) isAtReads() bool {
	w := snd.at(snd.next)
	return w.op.hasResponse() && snd.cold().reads.isFull() || w.flags&fence != 0 &&
		!snd.cold().reads.isEmpty()
}

// upcomingOpcode returns the opcode of the packet that leaves next.
func (snd *sender) upcomingOpcode() wire.Opcode {
	w, k := snd.upcoming()
	return snd.conn().opcode(w, k)
}

// opcode returns the opcode of packet k of a request.
func (qp *QueuePair) opcode(w *sendWQE, k uint32) wire.Opcode {
	at := placeOf(k == 0, k+1 == w.packets)
	switch {
	case w.op == OpRead:
		return wire.RCReadRequest
	case w.op == OpCmpSwap:
		return wire.RCCmpSwap
	case w.op == OpFetchAdd:
		return wire.RCFetchAdd
	case qp.Type == UC:
		return opcodesUC[w.op][at]
	}
	return opcodesRC[w.op][at]
}

// head returns the index of the oldest work request that has not completed.
func (snd *sender) head() uint32 { return snd.done }

// upcoming returns the work request whose packet leaves next, and the index of that packet.
func (snd *sender) upcoming() (w *sendWQE, k uint32) { return snd.at(snd.next), snd.packet }

// room returns how many more work requests may be posted.
func (snd *sender) room() int { return int(snd.cold().limit - (snd.posted - snd.done)) }

// waiting returns how many posted work requests have sent no packet.
func (snd *sender) waiting() int { return int(snd.posted - snd.begun) }

// begin applies the attributes of RTR→RTS.
func (snd *sender) begin(a *QPAttr) {
	snd.sndNxt = a.SendPSN
	snd.cold().reads = newOutstandingReads(a.MaxRdAtomic)
}

// finishOldest completes the oldest work request.
func (snd *sender) finishOldest(s Status) {
	w := snd.oldest()
	snd.done++
	snd.complete(w, s)
}

// skipOldest completes the oldest work request, of which no more packets will leave.
func (snd *sender) skipOldest(s Status) {
	w := snd.oldest()
	if snd.begun == snd.done { // for SQD, which waits for requests that have begun
		snd.begun++
	}
	snd.done++
	snd.next, snd.packet = snd.done, 0
	snd.complete(w, s)
}

// goBack makes the packet una, the oldest that is not acknowledged, the next to leave.
func (snd *sender) goBack(una wire.PSN) {
	snd.sndNxt, snd.next, snd.packet = una, snd.done, 0
	if snd.hasBegun() {
		snd.packet = uint32(una.Sub(snd.oldest().first))
	}
}

// cancelWaiting flushes the work requests that have sent no packet, and returns how many.
func (snd *sender) cancelWaiting() int {
	n := snd.waiting()
	for i := snd.begun; i != snd.posted; i++ {
		snd.complete(snd.at(i), StatusWRFlushErr)
	}
	snd.posted = snd.begun
	return n
}

// flush completes all work requests with an error, in order.
func (snd *sender) flush() {
	for ; !snd.isIdle(); snd.done++ {
		snd.complete(snd.oldest(), StatusWRFlushErr)
	}
	snd.next, snd.begun, snd.packet = snd.done, snd.done, 0
	snd.cold().reads.clear()
	snd.returnQueue()
}

// onReadsAnswered removes the READs and atomics before una, which have been answered.
func (snd *sender) onReadsAnswered(una wire.PSN) { snd.cold().reads.removeBefore(una) }

// readEnd returns the end of the outstanding READ or atomic request that contains psn.
func (snd *sender) readEnd(psn wire.PSN) wire.PSN { return snd.cold().reads.end(psn) }

// release ends the use of the completion queue.
func (snd *sender) release() { snd.cold().cq.users-- }

func (snd *sender) addStats(s *QPStats) {
	s.PacketsSent, s.BytesSent = snd.packetsSent, snd.bytesSent
}

// unackedBytes returns how many bytes are posted and not acknowledged. In a recovery, what arrived
// behind the gap is not acknowledged either.
func (snd *sender) unackedBytes() units.Bytes {
	qp := snd.conn()
	if snd.done == snd.begun {
		return snd.cold().pending
	}
	w := snd.at(snd.done)
	return snd.cold().pending - snd.span(w, 0, uint32(qp.loss.oldest().Sub(w.first)))
}

// outstanding returns the value of cc.Event.Left: 0 only if nothing is posted, so messages without
// payload count as a byte.
func (snd *sender) outstanding() units.Bytes {
	if snd.done == snd.posted {
		return 0
	}
	return max(1, snd.unackedBytes())
}

// span returns the payload bytes of packets from..to of a message.
func (snd *sender) span(w *sendWQE, from, to uint32) units.Bytes {
	qp := snd.conn()
	return units.Bytes(min(to<<qp.mtuShift, w.length)) - units.Bytes(min(from<<qp.mtuShift,
		w.length))
}

// locate finds which of the outstanding requests psn belongs to.
func (snd *sender) locate(psn wire.PSN) (i uint32) {
	if w := snd.at(snd.done); psn.Before(w.first.Add(w.packets)) {
		return snd.done // the common case
	}
	low, high := snd.done, snd.begun // it is at low or behind, and before high
	for high-low > 1 {
		mid := low + (high-low)/2
		if psn.Before(snd.at(mid).first) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// request returns the outstanding request that psn belongs to.
func (snd *sender) request(psn wire.PSN) *sendWQE { return snd.at(snd.locate(psn)) }

// size returns how many bytes of payload psn carries, or asks for.
func (snd *sender) size(psn wire.PSN) units.Bytes {
	_, size := snd.part(psn)
	return size
}

// part returns the outstanding request to which psn belongs, and how many bytes of its payload psn
// carries, or asks for.
func (snd *sender) part(psn wire.PSN) (w *sendWQE, size units.Bytes) {
	w = snd.request(psn)
	k := uint32(psn.Sub(w.first))
	return w, snd.span(w, k, k+1)
}

func (snd *sender) failAt(i uint32, s Status) {
	for ; snd.done != i; snd.done++ {
		snd.complete(snd.oldest(), StatusWRFlushErr)
	}
	if !snd.isIdle() {
		snd.finishOldest(s)
	}
}
