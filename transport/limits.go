package transport

import (
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Limits of queues and tables, further ones in package endpoint. A larger size is refused when the
// object is created.
const (
	maxMessage      = 1 << 31 // bytes of one message (InfiniBand spec 9.7.7.1)
	maxQueuePairs   = 1 << 20 // queue pairs of one endpoint
	maxRegions      = 1 << 20 // memory regions of one endpoint
	maxAsyncPending = 1024    // events not fetched yet; further ones are counted and dropped
	// datagrams of queue pair 1 whose next hop is not known yet; further ones are dropped
	maxPendingMADs = 64
	// PSNs of one READ, which are taken at once: 2^23 apart, PSNs have no order (InfiniBand spec
	// 9.7.2)
	maxReadPSNs = 1<<23 - 1
	// unacknowledged PSNs of one queue pair, half of what the spec allows
	maxOutstanding = 1 << 22
	// fewer outstanding packets than this have the shorter timeout (IRN section 4.1: N)
	rtoLowPackets = 3
	ackEvery      = 16 // packets of a long message between two that ask for an ACK
	sendQuantum   = 32 // packets that a queue pair sends in one turn
	pollBudget    = 64 // packets that one Poll sends at most
	maxReordering = units.Second
	firstPort     = 0xC000  // UDP source ports are 0xC000..0xFFFF (annex A17.9.2)
	addressBase   = 1 << 28 // the first address that the endpoint gives to a memory region
	addressAlign  = 1 << 12 // the alignment of these addresses
)

// DeviceAttr describes an endpoint: its port, and the limits of what is created on it
// (ibv_device_attr, ibv_port_attr).
type DeviceAttr struct {
	Port    packet.Info
	MAC     [6]byte     // Config.MAC, or else the port's
	PathMTU units.Bytes // the largest that fits the port's MTU

	MaxQP       int // queue pairs
	MaxMR       int // memory regions
	MaxQPWR     int // work requests in one queue
	MaxCQE      int // completions in one queue
	MaxSGE      int // scatter/gather elements of one work request
	MaxInline   int // bytes of inline data of one work request
	MaxRdAtomic int // outstanding READs and atomics of one queue pair
}

// Query returns the endpoint's port and limits (ibv_query_device, ibv_query_port).
func (e *Endpoint) Query() DeviceAttr {
	return DeviceAttr{Port: e.info, MAC: e.mac, PathMTU: endpoint.PathMTUFor(e.info.MTU),
		MaxQP: maxQueuePairs, MaxMR: maxRegions, MaxQPWR: endpoint.MaxQueueDepth,
		MaxCQE: endpoint.MaxCQDepth, MaxSGE: endpoint.MaxSGE, MaxInline: endpoint.MaxInline,
		MaxRdAtomic: endpoint.MaxRdAtomic}
}
