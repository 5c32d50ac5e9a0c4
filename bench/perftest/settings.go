package perftest

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/metrics"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/trace/sqlog"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Settings are the parsed and validated command line, with perftest's names.
type Settings struct {
	Test Test
	Host string // server to connect to; empty: be the server, or both ends on loop:

	// Session.
	Port           int
	Connection     transport.QPType
	MTU            int  // 0: the largest that both ports carry
	GIDIndex       int  // negative: unset
	IPv6           bool // the first IPv6 address instead of the first one
	Upstream       bool // use linux-rdma perftest's protocol
	CM             bool // communicate through the RDMA CM
	RegularPairs   bool // with CM: do not connect the queue pairs of the test through it
	ConnectTimeout units.Duration

	// Traffic.
	Size          int
	defaultSize   bool // no --size
	All           bool
	Iters         int
	Duration      units.Duration // 0: run for Iters
	Margin        units.Duration // negative: unset
	Infinitely    bool           // a row every Duration, until interrupted
	WarmUp        bool           // fill the send queues once before measuring
	QPs           int
	TxDepth       int
	RxDepth       int
	Bidirectional bool
	PostList      int
	Inline        int
	CQMod         int // 0: unset
	Outs          int
	AtomicType    AtomicType
	WriteWithImm  bool
	Validate      bool
	SharedReceive bool // one receive queue for all queue pairs of an endpoint
	HugePages     bool
	Limit         rateLimit
	// processing time of each message at the receiver; 0: only repost the receive
	Work units.Duration

	// Quality of service.
	TrafficClass int
	FlowLabel    int
	HopLimit     int
	AnswerClass  int // traffic class of ACKs and CNPs
	QPTimeout    int
	RetryCount   int
	Congestion   algorithms // of the queue pairs, cyclically
	Priorities   []int      // virtual priorities, cyclically; empty: none
	Channels     prioplus.Channels
	Tokens       *tocc.Spec // receiver-driven control in addition to Congestion; nil: none
	Cache        *carc.Spec // credits for the receiver's cache in addition to both; nil: none
	// driver that runs congestion control, including that of Tokens; off: inline
	Offload  string
	LineRate units.BitRate // 0: what the port reports
	BaseRTT  units.Duration

	// Port.
	Device   string
	Addrs    []netip.Prefix
	Gateways []netip.Addr
	Cores    []int
	Idle     goroce.Idle
	Events   bool // sleep without completions
	Queues   int
	Pcap     string
	// Trace is the file of the event log; events is the log, nil without one.
	Trace       string
	TraceSample sqlog.Share
	events      *sqlog.Log
	Seed        uint64
	EAL         string
	Metrics     string // address to serve metrics on; empty: none

	// Output.
	NoPeak    bool
	Gbits     bool
	Output    string
	Histogram bool
	Unsorted  bool
	CPUUtil   bool
	JSONFile  string // empty: none; "-": standard output
	Watch     bool
	WatchJSON string // same

	// Verdict.
	LimitBW      float64
	LimitMsgRate float64

	notes      []string   // on flags without effect
	instrument cc.Factory // measures in place of Congestion; nil: none
	monitor    *metrics.Server

	// Settings that depend on the peer.
	page, line int // bytes that small messages cycle through, and their alignment
	// OFED peer: each end measures on its own, starting with the first message
	withOFED bool
}

// Limits of a run. They are perftest's unless the transport's are lower.
const (
	maxQPs      = 16384
	maxSize     = 8 << 20
	minIters    = 5
	maxIters    = 1_000_000_000
	maxPostList = 1 << 15
	maxCQMod    = 1024
	maxSamples  = 10_000_000 // of -U, which stores all
	maxMemory   = 4 << 30    // bytes of all message buffers
	maxSeconds  = 1_000_000
	cqModLimit  = 8192 // bytes; larger messages have a completion each
	defCQMod    = 100

	// defAnswerClass is DSCP 48, which RoCE switches use for CNPs: a class with empty queues.
	defAnswerClass = 48 << 2

	defQPTimeout  = 14 // 67 ms, tried seven times
	loopQPTimeout = 18 // 1.1 s
	defMargin     = 2 * units.Second
	defInterval   = 5 * units.Second // of --run_infinitely
)

// AtomicType is an atomic operation.
type AtomicType uint8

// The atomic operations of --atomic_type.
const (
	FetchAndAdd AtomicType = iota
	CmpAndSwap
)

func (a AtomicType) String() string { return [...]string{"FETCH_AND_ADD", "CMP_AND_SWAP"}[a] }

// defaults returns the settings without flags.
func defaults(t Test) *Settings {
	s := &Settings{
		Test: t, Port: 18515, ConnectTimeout: 10 * units.Second, Connection: transport.RC,
		Margin: -1, GIDIndex: -1,
		Size: 65536, Iters: 1000, QPs: 1, TxDepth: 128, RxDepth: 512, PostList: 1, Outs: 16,
		QPTimeout: defQPTimeout, AnswerClass: defAnswerClass, RetryCount: 7, Device: "loop:",
		Queues: 1, TraceSample: 1,
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

// inProcess reports whether both ends run in this process.
func (s *Settings) inProcess() bool { return strings.HasPrefix(s.Device, "loop:") }

// cores returns the number of polling cores.
func (s *Settings) cores() int {
	if s.inProcess() {
		return 2 * s.Queues
	}
	return s.Queues
}

// agentCores returns the entries of --cores beyond the polling cores, if there are agents to poll.
func (s *Settings) agentCores() []int {
	if s.Offload == driver.Off || len(s.Cores) <= s.cores() {
		return nil
	}
	return s.Cores[s.cores():]
}

// otherEnd returns the processors of the other end on loop:, from a list that starts with this
// end's.
func (s *Settings) otherEnd(cores []int) []int {
	if len(cores) == 0 {
		return nil
	}
	n := s.Queues % len(cores)
	return slices.Concat(cores[n:], cores[:n])
}

// complete sets the defaults that depend on other settings.
func (s *Settings) complete() {
	if s.Infinitely && s.Duration == 0 {
		s.Duration = defInterval
	}
	if s.RegularPairs {
		s.CM = true
	}
	if s.Events {
		s.Idle = goroce.IdleSleep
	}
	if s.Margin < 0 {
		s.Margin = min(defMargin, s.Duration/4)
	}
}

// sizes returns the message sizes of the run. A datagram is limited to one packet.
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

// largest returns the largest message size of the run.
func (s *Settings) largest() int {
	if s.All && s.Test.Verb != Atomic {
		if s.Connection == transport.UD {
			return int(4 * units.KiB)
		}
		return maxSize
	}
	return s.Size
}

// cqMod returns how many messages of a size share a completion.
func (s *Settings) cqMod(size int) int {
	switch {
	case s.Validate && s.Test.isOneSided(): // each is checked
		return 1
	case s.CQMod > 0:
		return s.CQMod
	case size > cqModLimit:
		return 1
	}
	return min(defCQMod, s.TxDepth)
}
