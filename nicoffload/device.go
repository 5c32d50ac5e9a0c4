package nicoffload

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Handle identifies a flow on both sides of the boundary: the flow's number, which is reused, and
// the generation of that number, so that late messages are not attributed to a newer flow.
type Handle uint32

// MaxFlows bounds the number of flows of a device.
const MaxFlows = 1 << indexBits

const indexBits = 20

// NewHandle returns the handle of a generation of a flow number.
func NewHandle(index, generation uint32) Handle {
	return Handle(generation<<indexBits | index&(MaxFlows-1))
}

// Index returns the number of the flow.
func (h Handle) Index() uint32 { return uint32(h) & (MaxFlows - 1) }

// Generation returns the generation of the flow number, modulo 4096.
func (h Handle) Generation() uint32 { return uint32(h) >> indexBits }

func (h Handle) String() string { return fmt.Sprintf("flow %d.%d", h.Index(), h.Generation()) }

// Device is the boundary that TAURUS draws between NIC and host, as the host's software sees it:
// messages come up, results and configuration go down. A driver for a real NIC implements it. It
// belongs to one core, the agent's; other work of the driver runs elsewhere.
//
// A nil error means that the request was submitted. Counters show whether the NIC accepted it.
type Device interface {
	// Capabilities returns what the device can do; it does not change.
	Capabilities() Capabilities
	// Configure binds a flow that the device has reported as Started. A flow begins with the zero
	// Binding.
	Configure(f Handle, b Binding) error
	// Aggregate sets how signals and messages are aggregated; it applies from the end of each
	// engine's current period on.
	Aggregate(a Aggregation) error
	// Extract adds a custom segment, or replaces the one with the same ID; a Length of 0 removes
	// it.
	Extract(e Extraction) error
	// Probe requests one probe of a flow, immediately.
	Probe(f Handle) error
	// Fetch copies whole messages into b and returns the number of bytes. b has room for at least
	// one message; docs/nicoffload.md specifies the memory layout. The content comes from the NIC
	// and is untrusted.
	Fetch(b []byte) int
	// Backlog returns the number of Slots that wait to be fetched, and the capacity.
	Backlog() (used, size int)
	// Write passes results to the NIC and returns how many it accepted; the caller retries the
	// others. The newest result of a flow applies.
	Write(results []Result) int
	// Counters returns the counters since the device was started. It does not wait, so the values
	// may be as old as the previous call.
	Counters() Counters
}

// ErrBusy is returned by a Device that cannot accept a request at the moment.
var ErrBusy = errors.New("the device is busy")

// ErrUnable is returned by a Device for a request that exceeds its capabilities.
var ErrUnable = errors.New("the device cannot do that")

// Capabilities describes what a device can do.
type Capabilities struct {
	Name        string
	Flows       int           // at a time
	Extractions int           // custom segments
	Events      cc.EventSet   // that it reports
	Rates       bool          // it paces flows itself
	MinRate     units.BitRate // bounds of the rates it accepts; 0: unknown
	MaxRate     units.BitRate
	Tick        units.Duration // resolution of its clock
}

// Binding describes what a flow's algorithm needs from the NIC.
type Binding struct {
	// Events are reported; 0 means all. Other events do not cross the boundary.
	Events cc.EventSet
	// Raw events are reported one by one, whatever the class of their engine.
	Raw cc.EventSet
	// Merged events are summed although their default class is Raw: an RTT, of which the newest
	// sample is reported.
	Merged cc.EventSet
	// Brief requests TAURUS's record only: 32 bytes with counts and one value.
	Brief bool
	// RTO makes the NIC raise an RTO event when data in flight is not acknowledged for that time; 0
	// leaves timeouts to the transport.
	RTO units.Duration
	// ProbePackets attaches a probe to every n-th packet, ProbeEvery to the first packet after each
	// interval; 0 disables either. At most one of them may be set.
	ProbePackets uint16
	ProbeEvery   units.Duration
}

// Validate returns an error that describes what is wrong with a Binding, or nil.
func (b *Binding) Validate() error {
	switch {
	case b.ProbePackets != 0 && b.ProbeEvery != 0:
		return fmt.Errorf("nicoffload: binding: probes every %d packets and every %v, want only "+
			"one of them", b.ProbePackets, b.ProbeEvery)
	case b.ProbeEvery < 0:
		return fmt.Errorf("nicoffload: binding: probe interval %v, want at least 0", b.ProbeEvery)
	case b.RTO < 0:
		return fmt.Errorf("nicoffload: binding: timeout %v, want at least 0", b.RTO)
	case b.Merged&^cc.Events(cc.RTT) != 0:
		return fmt.Errorf("nicoffload: binding: %v cannot be merged, only RTT can",
			b.Merged&^cc.Events(cc.RTT))
	case b.Raw&b.Merged != 0:
		return fmt.Errorf("nicoffload: binding: %v is both raw and merged", b.Raw&b.Merged)
	}
	return nil
}

// Aggregation holds the two tiers of TAURUS's section 3.4: how long each engine collects signals
// into one message, and how many messages are moved at a time.
type Aggregation struct {
	Accumulable units.Duration // period; 0 reports every signal
	Coalescent  units.Duration
	Threshold   units.Bytes    // messages are flushed when they exceed this size
	Deadline    units.Duration // or when the oldest has waited this long
}

// DefaultAggregation sets what the paper leaves open: periods a little above a round trip of its
// testbed (5 to 8 µs), and a threshold within its 128 to 512 bytes.
var DefaultAggregation = Aggregation{
	Accumulable: 10 * units.Microsecond, Coalescent: 20 * units.Microsecond,
	Threshold: 256, Deadline: 5 * units.Microsecond,
}

// Immediate reports every signal immediately.
var Immediate = Aggregation{}

const (
	maxPeriod    = units.Second
	maxThreshold = 32 * units.KiB
)

// Validate returns an error that describes what is wrong with an Aggregation, or nil.
func (a *Aggregation) Validate() error {
	for _, d := range []struct {
		name string
		v    units.Duration
	}{{"accumulable period", a.Accumulable}, {"coalescent period", a.Coalescent},
		{"deadline", a.Deadline}} {
		if d.v < 0 || d.v > maxPeriod {
			return fmt.Errorf("nicoffload: aggregation: %s %v out of range [0, %v]", d.name, d.v,
				maxPeriod)
		}
	}
	if a.Threshold < 0 || a.Threshold > maxThreshold {
		return fmt.Errorf("nicoffload: aggregation: threshold %v out of range [0, %v]",
			a.Threshold, maxThreshold)
	}
	return nil
}

// PacketType is the type of the packets that an Extraction applies to.
type PacketType uint8

// The packet types.
const (
	PacketData     PacketType = iota
	PacketAck                 // acknowledgements, negative ones included
	PacketCNP                 // congestion notification packets
	PacketProbe               // responses to probes
	PacketFeedback            // reports of switches
	packetTypes
)

// Extraction selects the bytes that are cut from packets of one type into a custom segment.
type Extraction struct {
	ID     uint16 // FirstCustom or above; every message with the segment carries it
	Packet PacketType
	Offset uint16 // into Packet.Segment
	Length uint16 // at most MaxSegment
}

// Validate returns an error that describes what is wrong with an Extraction, or nil.
func (e *Extraction) Validate() error {
	switch {
	case e.ID < FirstCustom:
		return fmt.Errorf("nicoffload: extraction: segment %d, want at least %d", e.ID,
			FirstCustom)
	case e.Packet >= packetTypes:
		return fmt.Errorf("nicoffload: extraction: packet type %d out of range [0, %d)", e.Packet,
			packetTypes)
	case e.Length > MaxSegment:
		return fmt.Errorf("nicoffload: extraction: length %d, want at most %d", e.Length,
			MaxSegment)
	}
	return nil
}

// Result is an algorithm's decision for a flow, as passed to the NIC, which keeps the last one.
type Result struct {
	Flow     Handle
	Decision cc.Decision // without WakeAt, which the agent handles
}

// Counters counts events of a device. All values only increase.
type Counters struct {
	Signals  uint64 // reported to the NIC
	Messages uint64 // made from them
	Bursts   uint64 // flushes
	Bytes    uint64 // of messages flushed
	Results  uint64 // accepted
	Probes   uint64 // attached, or requested and sent

	Unbound uint64              // signals without a binding
	Evicted [len(typeOf)]uint64 // raw messages evicted from a full queue, by cc.Kind
	Stale   uint64              // messages, results and signals of a flow that has ended
	Unknown uint64              // handles of nonexistent flows
	// Held counts ends of a period without room for the messages: the engine continued to merge
	Held       uint64
	Refused    uint64 // invalid commands
	Malformed  uint64 // records that could not be decoded
	ProbesLate uint64 // implausible responses, and responses older than the newest
}

// Datapath is the other side of the boundary: the interface between the packet pipeline and the
// NIC. A NIC with its own pipeline does not need it. It belongs to the polling core.
type Datapath interface {
	// Open starts a flow with the decision that applies until the first result; Close ends it.
	Open(f Handle, first cc.Decision, now units.Time)
	Close(f Handle, now units.Time)
	// Report passes one signal to the NIC. ev is valid only during the call.
	Report(f Handle, ev *cc.Event, now units.Time)
	// Poll does the work that is due and returns when more will be.
	Poll(now units.Time) units.Time
	// Result stores a new result into r, a different one with each call, and reports whether there
	// was one.
	Result(r *Result) bool
	// Silence returns for how long there have been messages without the agent fetching any.
	Silence(now units.Time) units.Duration
}
