package neigh

import "github.com/goroce/goroce/units"

// MaxEntries is the maximum number of neighbours in a Table. When it is full, an entry that is not
// held is evicted. The value is ours.
const MaxEntries = 4096

// MaxUnconfirmed is the maximum number of entries that are not held and have never answered a
// solicitation of ours: those learned from requests, and those resolved without success. Any host
// on the link can cause such entries. MaxUnconfirmedPerPrefix is their maximum number in one IPv4
// /24 or IPv6 /64. The values are ours: a whole /24, and four of them.
const (
	MaxUnconfirmed          = 1024
	MaxUnconfirmedPerPrefix = 256
)

// QueueDepth is the maximum number of frames that wait for Emit. When the queue is full, new frames
// are dropped; solicitations and requests are repeated.
const QueueDepth = 64

// echoDepth is the queue length up to which echo replies are queued, so that a flood of pings
// leaves room for resolution.
const echoDepth = QueueDepth - 16

const (
	minFrame  = 60    // IEEE 802.3 4A.4.2 minFrameSize, less the frame check sequence
	maxFrame  = 10240 // more than a jumbo frame
	slotBytes = 128   // initial size of a queue slot: fits everything but long echo replies
)

// The timers. Names in capitals are those of RFC 4861 section 10. The first retransmissions are
// faster than its RETRANS_TIMER because round trips in a data centre are short.
const (
	firstRetransmit = units.Millisecond
	maxRetransmit   = units.Second
	solicitPeriod   = units.Minute      // of solicitations after the last query
	reachableTime   = 30 * units.Second // REACHABLE_TIME
	probeInterval   = units.Second      // RETRANS_TIMER
	unicastProbes   = 3                 // MAX_UNICAST_SOLICIT
)
