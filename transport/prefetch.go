package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/transport/wire"
)

// manyQueuePairs is how many queue pairs do not stay in the processor's first cache: what packets
// touch of them, and of what they point to, is about 1 KiB each.
const manyQueuePairs = 512

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
	// then what they point to
	for _, qp := range fetched {
		e.timers.Prefetch(uint32(qp.cong.flowID()))
		qp.snd.prefetchQueue()
	}
	for _, qp := range fetched {
		qp.snd.prefetchOldest()
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
