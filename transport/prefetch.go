package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// manyQueuePairs is the number of queue pairs from which prefetching pays. Packets touch about
// 1 KiB of each and of what it points to, so 4096 of them do not stay in the second-level cache.
// With fewer, BenchmarkQueuePairs gains nothing.
const manyQueuePairs = 4096

// prefetchQueuePairs fetches what the n received frames touch of their queue pairs, all at once,
// before the frames are handled. Otherwise each of them waits for some ten cache lines.
func (e *Endpoint) prefetchQueuePairs(n int) {
	if n < 2 || e.qps.count < manyQueuePairs {
		return
	}
	var bths [packet.Burst]guessedBTH
	for i := range n { // the table first: its misses overlap, too
		bths[i] = guessBTH(e.rx[i].Data())
		e.fetched[i] = e.qps.slots[int(bths[i].destQP)&(len(e.qps.slots)-1)]
	}
	for i, qp := range e.fetched[:n] {
		switch {
		case qp == nil:
		case bths[i].isResponse:
			qp.prefetchSender()
		default:
			prefetch.Object(qp)
			e.fetched[i] = nil
		}
	}
	for _, qp := range e.fetched[:n] { // then the timers of those that get responses
		if qp != nil {
			e.timers.Prefetch(uint32(qp.cong.flowID()))
		}
	}
}

// Prefetch fetches the queue pair into the processor's cache. It is of use before a loop that posts
// to many queue pairs, as a server with thousands of clients does: the misses of all of them
// overlap, and PostSend waits for none.
func (qp *QueuePair) Prefetch() { qp.prefetchSender() }

// prefetchSender fetches what a request that leaves touches, and what its ACK does.
func (qp *QueuePair) prefetchSender() {
	prefetch.Between(qp, &qp.nextResponder)
	prefetch.Object(&qp.cold)
}

// prefetch fetches a queue pair that begins to send, with its timer: its packets leave when the
// program has posted to others, too.
func (qp *QueuePair) prefetch() {
	if e := qp.ep; e.qps.count >= manyQueuePairs {
		qp.prefetchSender()
		e.timers.Prefetch(uint32(qp.cong.flowID()))
	}
}

// guessedBTH is what a frame says about itself, unchecked, if it is a RoCEv2 packet without a VLAN
// tag. A wrong guess costs a useless fetch.
type guessedBTH struct {
	destQP     uint32 // in its low bits
	isResponse bool   // to a request, or an ACK
}

func guessBTH(frame []byte) guessedBTH {
	const ipv4 = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	const ipv6 = ipv4 + wire.IPv6Len - wire.IPv4Len
	at := ipv4
	if len(frame) < ipv6+8 {
		if len(frame) < ipv4+8 {
			return guessedBTH{}
		}
	} else if frame[12] == 0x86 {
		at = ipv6
	}
	op := wire.Opcode(frame[at])
	return guessedBTH{binary.BigEndian.Uint32(frame[at+4:]),
		op >= wire.RCReadResponseFirst && op <= wire.RCAtomicAck || op == wire.XACK}
}
