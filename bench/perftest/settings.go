package perftest

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Settings are the command line, read and checked. The names are perftest's.
type Settings struct {
	Test Test
	Host string // of the server; empty: be the server, or both ends on loop:

	// Session.
	Port           int
	Connection     transport.QPType
	MTU            int // 0: the largest that both ports carry
	GIDIndex       int
	Upstream       bool // take the peer for linux-rdma's perftest
	CM             bool // connect by the RDMA CM, and talk over it
	ConnectTimeout units.Duration

	// Traffic.
	Size          int
	All           bool
	Iters         int
	Duration      units.Duration // 0: count iterations
	Margin        units.Duration // negative: not given
	QPs           int
	TxDepth       int
	RxDepth       int
	Bidirectional bool
	PostList      int
	Inline        int
	CQMod         int // 0: not given
	Outs          int
	AtomicType    AtomicType
	WriteWithImm  bool
	Validate      bool
	// that the receiving program takes with each message; 0: it only posts its receive again
	Work units.Duration

	// Quality of service.
	TrafficClass int
	AnswerClass  int // of ACKs and CNPs
	QPTimeout    int
	RetryCount   int
	Congestion   algorithms // of the queue pairs, in turn
	Priorities   []int      // virtual ones, likewise; none: plain Congestion
	Channels     prioplus.Channels
	Tokens       *tocc.Spec // receiver-driven control beside Congestion; nil: none
	Cache        *carc.Spec // credits for the receiver's cache beside both; nil: none
	// the driver behind which Congestion and that of Tokens run; off: in line
	Offload  string
	LineRate units.BitRate // 0: what the port says
	BaseRTT  units.Duration

	// Port.
	Device   string
	Addrs    []netip.Prefix
	Gateways []netip.Addr
	Cores    []int
	Idle     goroce.Idle
	Queues   int
	Pcap     string
	Seed     uint64
	EAL      string

	// Output.
	NoPeak    bool
	Gbits     bool
	Output    string
	Histogram bool
	Unsorted  bool
	JSONFile  string // empty: none; "-": standard output
	Watch     bool
	WatchJSON string // likewise

	// Verdict.
	LimitBW      float64
	LimitMsgRate float64

	instrument cc.Control // that measures in place of Congestion; nil: none

	// What the peer has its part in.
	page, line int // bytes: what small messages go round in, and what they are aligned to
	// it is no program of ours: each end measures for itself, and from the first message
	apart bool
}

// What a run may ask for. The numbers are perftest's unless the transport has less.
const (
	maxQPs      = 16384
	maxSize     = 8 << 20
	maxIters    = 1_000_000_000
	maxPostList = 1 << 15
	maxSamples  = 10_000_000 // of -U, which keeps every one
	maxMemory   = 4 << 30    // bytes of all message buffers
	maxSeconds  = 1_000_000
	cqModLimit  = 8192 // bytes: larger messages complete one by one
	defCQMod    = 100

	// defAnswerClass is DSCP 48, by which switches for RoCE know CNPs: the class that nothing waits
	// in.
	defAnswerClass = 48 << 2

	defQPTimeout  = 14 // 67 ms, seven times
	loopQPTimeout = 18 // 1.1 s
	defMargin     = 2 * units.Second
)

// AtomicType is which atomic operation to measure.
type AtomicType uint8

// The atomic operations.
const (
	FetchAndAdd AtomicType = iota
	CmpAndSwap
)

func (a AtomicType) String() string { return [...]string{"FETCH_AND_ADD", "CMP_AND_SWAP"}[a] }

// defaults are what a test does without flags.
func defaults(t Test) *Settings {
	s := &Settings{
		Test: t, Port: 18515, ConnectTimeout: 10 * units.Second, Connection: transport.RC,
		Margin: -1,
		Size:   65536, Iters: 1000, QPs: 1, TxDepth: 128, RxDepth: 512, PostList: 1, Outs: 16,
		QPTimeout: defQPTimeout, AnswerClass: defAnswerClass, RetryCount: 7, Device: "loop:",
		Queues:     1,
		Congestion: defaultAlgorithms(), Offload: driver.Off, page: pageSize, line: cacheLine,
	}
	switch {
	case t.Verb == Atomic:
		s.Size = 8
	case t.Kind == Latency:
		s.Size = 2
	}
	if t.Kind == Latency {
		s.TxDepth = 1
	} else if t.Verb == Write {
		s.Iters = 5000
	}
	return s
}

// inProcess says that both ends run here.
func (s *Settings) inProcess() bool { return strings.HasPrefix(s.Device, "loop:") }

// cores is how many cores poll.
func (s *Settings) cores() int {
	if s.inProcess() {
		return 2 * s.Queues
	}
	return s.Queues
}

// agentCores are those that --cores names beyond the polling ones, when there are agents to poll.
func (s *Settings) agentCores() []int {
	if s.Offload == driver.Off || len(s.Cores) <= s.cores() {
		return nil
	}
	return s.Cores[s.cores():]
}

// otherEnd are the processors of the other end on loop:, of a list that begins with this end's.
func (s *Settings) otherEnd(cores []int) []int {
	if len(cores) == 0 {
		return nil
	}
	n := s.Queues % len(cores)
	return slices.Concat(cores[n:], cores[:n])
}

// complete fills in what depends on other settings.
func (s *Settings) complete() {
	if s.Margin < 0 {
		s.Margin = min(defMargin, s.Duration/4)
	}
}

// sizes are the message sizes of the run. A datagram is one packet.
func (s *Settings) sizes(mtu int) []int {
	if !s.All || s.Test.Verb == Atomic {
		return []int{s.Size}
	}
	var sizes []int
	for n := 2; n <= maxSize; n *= 2 {
		if s.Connection != transport.UD || n <= mtu {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// largest is the largest message of the run.
func (s *Settings) largest() int {
	if s.All && s.Test.Verb != Atomic {
		if s.Connection == transport.UD {
			return int(transport.MTU4096)
		}
		return maxSize
	}
	return s.Size
}

// cqMod is how many messages of a size share a completion.
func (s *Settings) cqMod(size int) int {
	switch {
	case s.Validate && s.Test.oneSided(): // each is looked at
		return 1
	case s.CQMod > 0:
		return s.CQMod
	case size > cqModLimit:
		return 1
	}
	return min(defCQMod, s.TxDepth)
}
