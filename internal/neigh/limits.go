package neigh

import "github.com/goroce/goroce/units"

// MaxEntries is how many neighbours a Table knows. When it is full one that nobody holds makes
// room. OURS.
const MaxEntries = 4096

// MaxUnconfirmed is how many of those that nobody holds have never answered a question of ours:
// they made themselves known, or somebody asked for them. Anybody on the link can invent such.
// MaxUnconfirmedPerPrefix is how many of them are of one source, an IPv4 /24 or an IPv6 /64. OURS:
// a whole /24, and four of them.
const (
	MaxUnconfirmed          = 1024
	MaxUnconfirmedPerPrefix = 256
)

// QueueDepth is how many frames wait for Emit. When the queue is full the newest is dropped:
// whoever asked asks again.
const QueueDepth = 64

// echoDepth is how much of the queue echo replies may fill, so that a flood of pings leaves room
// for resolution.
const echoDepth = QueueDepth - 16

const (
	minFrame  = 60    // IEEE 802.3 4A.4.2 minFrameSize, less the frame check sequence
	maxFrame  = 10240 // more than a jumbo frame
	slotBytes = 128   // room a queue slot begins with: everything but long echo replies
)

// The timers. RFC 4861 section 10 names and sets those in capitals; the first retransmissions are
// faster than its RETRANS_TIMER because a data centre's round trip is.
const (
	firstRetransmit = units.Millisecond
	maxRetransmit   = units.Second
	lingering       = units.Minute      // how long after the last question to go on soliciting
	reachableTime   = 30 * units.Second // REACHABLE_TIME
	probeInterval   = units.Second      // RETRANS_TIMER
	unicastProbes   = 3                 // MAX_UNICAST_SOLICIT
)
