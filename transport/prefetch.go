package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/transport/wire"
)

// manyQueuePairs is the number of queue pairs from which prefetching pays. Packets touch about
// 1 KiB of each and of what it points to, so 4096 of them do not stay in the second-level cache.
// With fewer, BenchmarkQueuePairs gains nothing.
const manyQueuePairs = 4096

// prefetchQueuePairs fetches the queue pairs of the n received frames, all at once, before the
// frames are handled. Otherwise each of them waits for some ten cache lines.
func (e *Endpoint) prefetchQueuePairs(n int) {
	if n < 2 || e.qps.count < manyQueuePairs {
		return
	}
	fetched := e.fetched[:0]
	for i := range n {
		if qp := e.qps.slots[int(guessQPN(e.rx[i].Data()))&(len(e.qps.slots)-1)]; qp != nil {
			prefetch.Object(qp)
			fetched = append(fetched, qp)
		}
	}
	for _, qp := range fetched { // then what they point to
		e.timers.Prefetch(uint32(qp.cong.flowID()))
	}
}

// prefetch fetches a queue pair that begins to send, with its timer: its packets leave when the
// program has posted to others, too.
func (qp *QueuePair) prefetch() {
	if e := qp.ep; e.qps.count >= manyQueuePairs {
		prefetch.Object(qp)
		e.timers.Prefetch(uint32(qp.cong.flowID()))
	}
}

// guessQPN returns the word of a frame that has the destination queue pair in its low bits, if the
// frame is a RoCEv2 packet without a VLAN tag. A wrong guess costs a useless fetch.
func guessQPN(frame []byte) uint32 {
	const ipv4 = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + 4 // the second word of the BTH
	const ipv6 = ipv4 + wire.IPv6Len - wire.IPv4Len
	switch {
	case len(frame) < ipv6+4:
		if len(frame) < ipv4+4 {
			return 0
		}
	case frame[12] == 0x86:
		return binary.BigEndian.Uint32(frame[ipv6:])
	}
	return binary.BigEndian.Uint32(frame[ipv4:])
}
