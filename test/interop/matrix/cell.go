package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce/units"
)

// Test is the test that both ends run.
type Test string

// The tests: perftest's by verb and kind, and two that verify the data.
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

// Perftest reports whether the test is one of perftest's.
func (t Test) Perftest() bool { return t != RCPingpong && t != Rping }

// Latency reports whether the test's result is a time rather than a bandwidth.
func (t Test) Latency() bool { return strings.HasSuffix(string(t), "_lat") }

// verb returns the part of a perftest's name before its kind.
func (t Test) verb() string {
	return strings.TrimSuffix(strings.TrimSuffix(string(t), "_bw"), "_lat")
}

// oneSided reports whether only the client posts; perftest's server then has no samples.
func (t Test) oneSided() bool { return t.verb() == "read" || t.verb() == "atomic" }

// Role is the role of our end.
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

// Impairment is what the wire does to packets.
type Impairment string

// The impairments; Clean is none.
const (
	Clean       Impairment = ""
	Loss        Impairment = "loss"
	Duplication Impairment = "duplication"
	Reordering  Impairment = "reordering"
	Corruption  Impairment = "corruption"
	Everything  Impairment = "everything"

	// Congestion of a switch, alone and with loss; and with a receiver that responds with CNPs.
	Marks     Impairment = "marks"
	MarksLoss Impairment = "marks-loss"
	CNPs      Impairment = "cnps"
)

// Impairments are all impairments that damage traffic, alone and together.
var Impairments = []Impairment{Loss, Duplication, Reordering, Corruption, Everything}

// Control is the congestion control of our end, in cells that test it.
type Control string

// The controls: none in particular, delay-based, CNP-based, and tokens, which the peer does not
// support and our end continues without.
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

// String returns the cell's name, which -run matches.
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

// packets returns the number of packets of a message.
func (c Cell) packets() int { return max(1, int((c.Size+c.MTU-1)/c.MTU)) }

// Budgets of packets per cell. An emulated guest handles some 12 000 per second.
const (
	maxIterations         = 200
	maxIterationsImpaired = 600 // enough that faults hit small messages dozens of times
	minIterations         = 5   // perftest's own
	budget                = 2000
	budgetUnreliable      = 400 // without flow control: what the queues on the way hold
	budgetControlled      = 1000

	// A message of rping takes a dozen packets, one after the other, and after a loss rdma_cm's ACK
	// timeout takes seconds.
	maxRpings         = 50
	maxRpingsImpaired = 12
)

// Duration returns the run time of a watched cell in seconds; 0: the cell runs until its iterations
// are done.
func (c Cell) Duration() int {
	switch {
	case !c.Watched():
		return 0
	case c.Impair == CNPs:
		return secondsCongested + secondsToRecover
	}
	return secondsWatched
}

// Watched reports whether our end sends and prints the state of its congestion control each second.
func (c Cell) Watched() bool {
	return c.Control != Unconcerned && c.Test.Perftest() && (c.Role == Client || c.Both)
}

// Run time of a watched cell, in seconds. With CNPs, they are sent in the first part.
const (
	secondsWatched   = 3
	secondsCongested = 2
	secondsToRecover = 2
)

// Congested returns how long the wire of a cell with CNPs is congested.
func (c Cell) Congested() time.Duration { return secondsCongested * time.Second }

// Iterations returns the number of messages per queue pair, if the cell has no duration.
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

// Throughput and overheads of an emulated peer.
const (
	packetsPerSecond  = 12000.0
	bytesPerSecond    = 25e6
	overhead          = 1.0 // seconds beside its packets
	overheadOfWriteBW = 1.0 // ib_write_bw sleeps, at either end
	overheadOfCM      = 2.0
)

// Seconds returns the approximate run time of the cell with an emulated peer.
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

// Verified reports whether the receiving end of the test checks the data.
func (c Cell) Verified() bool { return !c.Test.Perftest() }

// Exists reports whether the verbs and the tools support the cell.
func (c Cell) Exists() bool {
	switch {
	case c.Service == UC && (!c.Test.Perftest() || c.Test.oneSided()),
		c.Service == UD && c.Test.verb() != "send",
		c.Service == UD && c.Size > c.MTU, // a datagram is a single packet
		// An atomic is 8 bytes, and no other test uses that size.
		(c.Test.verb() == "atomic") != (c.Size == atomicSize),
		(c.Test.Latency() || !c.Test.Perftest()) && c.QPs != 1, // a ping-pong has one queue pair
		c.Test == Rping && (c.Size < rpingLeast || c.Size > rpingMost || c.MTU != rpingMTU),
		// Limits of perftest's -R.
		c.CM && (!c.Test.Perftest() || c.Service != RC || c.IP != IPv4),
		c.Impair != Clean && c.Service != RC, // unreliable services do not recover losses
		// Unreliable services have no acknowledgements.
		c.Control != Unconcerned && c.Service != RC,
		c.Both && (!c.Test.Perftest() || c.Test.Latency()):
		return false
	}
	return slices.Contains(roles, c.Role)
}

// Limits of the tools.
const (
	atomicSize units.Bytes = 8
	// RPING_MIN_BUFSIZE of rdma-core: "rdma-ping-%d: " with a number
	rpingLeast units.Bytes = 28
	rpingMost  units.Bytes = 65536 - 1 // RPING_BUFSIZE - 1
	rpingMTU   units.Bytes = 4096      // rdma_cm takes the link's
)
