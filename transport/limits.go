package transport

import "github.com/goroce/goroce/units"

// Every queue and table has a largest size. What asks for more is refused when it is created.
const (
	MaxQueueDepth   = 1 << 16 // work requests in one queue
	MaxCQDepth      = 1 << 22 // completions in one queue
	MaxSGE          = 16      // scatter/gather elements of one work request
	MaxInline       = 1024    // bytes of inline data of one work request
	MaxRdAtomic     = 128     // outstanding READs and atomics of one queue pair
	maxMessage      = 1 << 31 // bytes of one message (InfiniBand spec 9.7.7.1)
	maxQueuePairs   = 1 << 20 // queue pairs of one endpoint
	maxRegions      = 1 << 20 // memory regions of one endpoint
	maxAsyncPending = 1024    // events nobody has fetched yet; further ones are counted and lost
	// datagrams of queue pair 1 for a next hop that is not known yet; further ones are lost
	maxParcels = 64
	// PSNs of one READ, all taken at once: of 2^23 none would come before the other (InfiniBand
	// spec 9.7.2)
	maxReadPSNs = 1<<23 - 1
	// unacknowledged PSNs of one queue pair, half of what the spec allows
	maxOutstanding = 1 << 22
	// outstanding, from which on the longer timeout counts (IRN section 4.1: N)
	fewPackets    = 3
	ackEvery      = 16 // packets of a long message between two that ask for an ACK
	sendQuantum   = 32 // packets a queue pair sends before the next one's turn
	pollBudget    = 64 // packets one Poll sends at most
	maxReordering = units.Second
	firstPort     = 0xC000  // UDP source ports are 0xC000..0xFFFF (annex A17.9.2)
	addressBase   = 1 << 28 // where the endpoint begins to give addresses to memory regions
	addressAlign  = 1 << 12 // and how they are aligned
)

// The path MTUs of the specification: payload bytes of a packet.
const (
	MTU256  = 256 * units.Bytes(1)
	MTU512  = 512 * units.Bytes(1)
	MTU1024 = 1 * units.KiB
	MTU2048 = 2 * units.KiB
	MTU4096 = 4 * units.KiB
)

// frameOverhead is the most that a RoCEv2 packet adds to its payload inside the IP datagram:
// IPv6, UDP, BTH, RETH, immediate data, ICRC.
const frameOverhead = 40 + 8 + 12 + 16 + 4 + 4

// PathMTUFor returns the largest path MTU whose packets fit into IP datagrams of mtu bytes, and 0
// when not even 256 does.
func PathMTUFor(mtu units.Bytes) units.Bytes {
	for m := MTU4096; m >= MTU256; m /= 2 {
		if m+frameOverhead <= mtu {
			return m
		}
	}
	return 0
}
