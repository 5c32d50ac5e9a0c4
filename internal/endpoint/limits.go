package endpoint

import "github.com/goroce/goroce/units"

// The largest sizes of queues, requests and connections, which transport.DeviceAttr reports.
const (
	MaxQueueDepth = 1 << 16 // work requests in one queue
	MaxCQDepth    = 1 << 22 // completions in one queue
	MaxSGE        = 16      // scatter/gather elements of one work request
	MaxInline     = 1024    // bytes of inline data of one work request
	MaxRdAtomic   = 128     // outstanding READs and atomics of one queue pair
)

// The defaults of transport.Config.
const (
	// DefaultHeld is how many buffers packets behind a gap may hold: half of those of a
	// packet.Pipe.
	DefaultHeld = 512
	// DefaultWindow is how much a queue pair may have in flight.
	DefaultWindow = units.MiB
)

// The smallest and the largest path MTU of the specification: bytes of payload of a packet.
const (
	MinPathMTU = 256 * units.Bytes(1)
	MaxPathMTU = 4 * units.KiB
)

// Overhead is the most that a RoCEv2 packet adds to its payload inside the IP datagram: IPv6, UDP,
// BTH, RETH, immediate data, ICRC.
const Overhead = 40 + 8 + 12 + 16 + 4 + 4

// PathMTUFor returns the largest path MTU whose packets fit into IP datagrams of mtu bytes, or 0
// if not even the smallest does.
func PathMTUFor(mtu units.Bytes) units.Bytes {
	for m := MaxPathMTU; m >= MinPathMTU; m /= 2 {
		if m+Overhead <= mtu {
			return m
		}
	}
	return 0
}

// IsPathMTU reports whether m is a path MTU of the specification.
func IsPathMTU(m units.Bytes) bool {
	return m >= MinPathMTU && m <= MaxPathMTU && m&(m-1) == 0
}
