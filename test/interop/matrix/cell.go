package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce/units"
)

// Test is what both ends run.
type Test string

// The tests: perftest's by verb and kind, and two that verify what arrives.
const (
	SendBW     Test = "send_bw"
	SendLat    Test = "send_lat"
	WriteBW    Test = "write_bw"
	WriteLat   Test = "write_lat"
	ReadBW     Test = "read_bw"
	ReadLat    Test = "read_lat"
	AtomicBW   Test = "atomic_bw"
	AtomicLat  Test = "atomic_lat"
	RCPingpong Test = "rc_pingpong" // ibv_rc_pingpong -c
	Rping      Test = "rping"       // rping -V
)

// Perftest says that the test is one of perftest's.
func (t Test) Perftest() bool { return t != RCPingpong && t != Rping }

// Latency says that the test's figure is a time, not a bandwidth.
func (t Test) Latency() bool { return strings.HasSuffix(string(t), "_lat") }

// verb is the part of a perftest's name before its kind.
func (t Test) verb() string {
	return strings.TrimSuffix(strings.TrimSuffix(string(t), "_bw"), "_lat")
}

// oneSided says that only the client posts: perftest's server of it knows no samples.
func (t Test) oneSided() bool { return t.verb() == "read" || t.verb() == "atomic" }

// Role is which end is ours.
type Role string

// The roles.
const (
	Client Role = "client"
	Server Role = "server"
)

func (r Role) other() Role {
	if r == Client {
		return Server
	}
	return Client
}

// Service is the transport service of the queue pairs.
type Service string

// The services.
const (
	RC Service = "RC"
	UC Service = "UC"
	UD Service = "UD"
)

// IP is the version of the Internet protocol that carries the packets. The handshake is over IPv4
// in either case.
type IP string

// The versions.
const (
	IPv4 IP = "IPv4"
	IPv6 IP = "IPv6"
)

// Impairment is what happens to packets on the way.
type Impairment string

// The impairments; Clean is none.
const (
	Clean       Impairment = ""
	Loss        Impairment = "loss"
	Duplication Impairment = "duplication"
	Reordering  Impairment = "reordering"
	Corruption  Impairment = "corruption"
	Everything  Impairment = "everything"

	// What a congested switch does, alone and with loss; and with a receiver that tells of it by
	// CNPs.
	Marks     Impairment = "marks"
	MarksLoss Impairment = "marks-loss"
	CNPs      Impairment = "cnps"
)

// Impairments are all that do damage, alone and together.
var Impairments = []Impairment{Loss, Duplication, Reordering, Corruption, Everything}

// Control is the congestion control of our end, where the cell is about it.
type Control string

// The controls: none in particular, one that goes by delays, one that goes by CNPs, and tokens,
// which the peer does not know and our end goes on without.
const (
	Unconcerned Control = ""
	Swift       Control = "swift"
	DCQCN       Control = "dcqcn"
	Tokens      Control = "tocc"
)

// Cell is one run of a test between an end of ours and a peer.
type Cell struct {
	Test    Test
	Role    Role
	Service Service
	IP      IP
	Size    units.Bytes // of a message
	MTU     units.Bytes // of the path
	QPs     int
	Impair  Impairment
	CM      bool // perftest's -R: queue pairs and handshake by the RDMA CM
	Control Control
	Both    bool // perftest's -b: both ends send
}

// String is the cell's name, and what -run matches.
func (c Cell) String() string {
	parts := []string{string(c.Test), string(c.Role), string(c.Service), string(c.IP),
		c.Size.String(),
		fmt.Sprintf("mtu%d", c.MTU), fmt.Sprintf("qp%d", c.QPs)}
	if c.Impair != Clean {
		parts = append(parts, string(c.Impair))
	}
	if c.CM {
		parts = append(parts, "cm")
	}
	if c.Both {
		parts = append(parts, "both")
	}
	if c.Control != Unconcerned {
		parts = append(parts, string(c.Control))
	}
	return strings.Join(parts, "/")
}

// packets is how many one message is on the wire.
func (c Cell) packets() int { return max(1, int((c.Size+c.MTU-1)/c.MTU)) }

// Budgets of packets for a cell. An emulated guest does some 12 000 a second.
const (
	maxIterations         = 200
	maxIterationsImpaired = 600 // that something happens, dozens of times, to small messages, too
	minIterations         = 5   // perftest's own
	budget                = 2000
	budgetUnreliable      = 400 // nothing slows a sender down: what the queues on the way hold
	budgetControlled      = 1000

	// Of rping's a dozen packets each are on the wire, one after the other, and where one is lost,
	// rdma_cm's ACK timeout is seconds.
	maxRpings         = 50
	maxRpingsImpaired = 12
)

// Duration is for how many seconds the cell runs, where it is watched meanwhile; 0: until its
// iterations are done.
func (c Cell) Duration() int {
	switch {
	case !c.Watched():
		return 0
	case c.Impair == CNPs:
		return secondsCongested + secondsToRecover
	}
	return secondsWatched
}

// Watched says that our end sends, and tells each second what its congestion control does.
func (c Cell) Watched() bool {
	return c.Control != Unconcerned && c.Test.Perftest() && (c.Role == Client || c.Both)
}

// How long a watched cell takes. In one with CNPs they come in the first part.
const (
	secondsWatched   = 3
	secondsCongested = 2
	secondsToRecover = 2
)

// Congested is how long the wire of a cell with CNPs is.
func (c Cell) Congested() time.Duration { return secondsCongested * time.Second }

// Iterations is how many messages each queue pair sends, where the cell has no duration.
func (c Cell) Iterations() int {
	packets := budget
	switch {
	case c.Service != RC:
		packets = budgetUnreliable
	case c.Control != Unconcerned:
		packets = budgetControlled
	}
	most := maxIterations
	switch {
	case c.Test == Rping && c.Impair != Clean:
		most = maxRpingsImpaired
	case c.Test == Rping:
		most = maxRpings
	case c.Impair != Clean:
		most = maxIterationsImpaired
	}
	return min(max(packets/(c.packets()*c.QPs), minIterations), most)
}

// What an emulated peer takes for a cell.
const (
	packetsPerSecond  = 12000.0
	bytesPerSecond    = 25e6
	overhead          = 1.0 // seconds beside its packets
	overheadOfWriteBW = 1.0 // ib_write_bw sleeps, at either end
	overheadOfCM      = 2.0
)

// Seconds is about how long the cell takes with an emulated peer.
func (c Cell) Seconds() float64 {
	messages := float64(c.Iterations() * c.QPs)
	seconds := overhead + messages*float64(c.packets())/packetsPerSecond + messages*float64(c.Size)/
		bytesPerSecond
	if c.Test == WriteBW {
		seconds += overheadOfWriteBW
	}
	if c.CM {
		seconds += overheadOfCM
	}
	if c.Watched() {
		seconds = overhead + float64(c.Duration())
	}
	return seconds
}

// Verified says that the receiving end of the test looks at what arrived.
func (c Cell) Verified() bool { return !c.Test.Perftest() }

// Exists says whether there is such a cell: what the verbs allow, and what the tools take.
func (c Cell) Exists() bool {
	switch {
	case c.Service == UC && (!c.Test.Perftest() || c.Test.oneSided()),
		c.Service == UD && c.Test.verb() != "send",
		c.Service == UD && c.Size > c.MTU, // a datagram is one packet
		// an atomic is 8 bytes, and nothing else is
		(c.Test.verb() == "atomic") != (c.Size == atomicSize),
		(c.Test.Latency() || !c.Test.Perftest()) && c.QPs != 1, // ping-pong is between two
		c.Test == Rping && (c.Size < rpingLeast || c.Size > rpingMost || c.MTU != rpingMTU),
		// what perftest's -R can do
		c.CM && (!c.Test.Perftest() || c.Service != RC || c.IP != IPv4),
		c.Impair != Clean && c.Service != RC, // nobody repairs these
		// nobody acknowledges these
		c.Control != Unconcerned && c.Service != RC,
		c.Both && (!c.Test.Perftest() || c.Test.Latency()):
		return false
	}
	return slices.Contains(roles, c.Role)
}

// What the tools take.
const (
	atomicSize units.Bytes = 8
	// RPING_MIN_BUFSIZE of rdma-core: "rdma-ping-%d: " with a number
	rpingLeast units.Bytes = 28
	rpingMost  units.Bytes = 65536 - 1 // RPING_BUFSIZE - 1
	rpingMTU   units.Bytes = 4096      // rdma_cm takes the link's
)
