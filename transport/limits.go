package transport

import "github.com/goroce/goroce/units"

// Limits of queues and tables. A larger size is refused when the object is created.
const (
	MaxQueueDepth   = 1 << 16 // work requests in one queue
	MaxCQDepth      = 1 << 22 // completions in one queue
	MaxSGE          = 16      // scatter/gather elements of one work request
	MaxInline       = 1024    // bytes of inline data of one work request
	MaxRdAtomic     = 128     // outstanding READs and atomics of one queue pair
	maxMessage      = 1 << 31 // bytes of one message (InfiniBand spec 9.7.7.1)
	maxQueuePairs   = 1 << 20 // queue pairs of one endpoint
	maxRegions      = 1 << 20 // memory regions of one endpoint
	maxAsyncPending = 1024    // events not fetched yet; further ones are counted and dropped
	// datagrams of queue pair 1 whose next hop is not known yet; further ones are dropped
	maxParcels = 64
	// PSNs of one READ, which are taken at once: 2^23 apart, PSNs have no order (InfiniBand spec
	// 9.7.2)
	maxReadPSNs = 1<<23 - 1
	// unacknowledged PSNs of one queue pair, half of what the spec allows
	maxOutstanding = 1 << 22
	// fewer outstanding packets than this have the shorter timeout (IRN section 4.1: N)
	fewPackets    = 3
	ackEvery      = 16 // packets of a long message between two that ask for an ACK
	sendQuantum   = 32 // packets that a queue pair sends in one turn
	pollBudget    = 64 // packets that one Poll sends at most
	maxReordering = units.Second
	firstPort     = 0xC000  // UDP source ports are 0xC000..0xFFFF (annex A17.9.2)
	addressBase   = 1 << 28 // the first address that the endpoint gives to a memory region
	addressAlign  = 1 << 12 // the alignment of these addresses
)

// The path MTUs of the specification: bytes of payload in a packet.
const (
	MTU256  = 256 * units.Bytes(1)
	MTU512  = 512 * units.Bytes(1)
	MTU1024 = 1 * units.KiB
	MTU2048 = 2 * units.KiB
	MTU4096 = 4 * units.KiB
)

// frameOverhead is how many bytes a RoCEv2 packet adds to its payload inside the IP datagram, at
// most: IPv6, UDP, BTH, RETH, immediate data, ICRC.
const frameOverhead = 40 + 8 + 12 + 16 + 4 + 4

// PathMTUFor returns the largest path MTU whose packets fit into IP datagrams of mtu bytes, or 0 if
// even 256 does not.
func PathMTUFor(mtu units.Bytes) units.Bytes {
	for m := MTU4096; m >= MTU256; m /= 2 {
		if m+frameOverhead <= mtu {
			return m
		}
	}
	return 0
}
