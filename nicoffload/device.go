package nicoffload

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Handle names a flow on both sides of the boundary: its number, which is used again, and which
// life of that number it is, so that what is late is not taken for another flow's.
type Handle uint32

// MaxFlows is how many flows a device can have at a time.
const MaxFlows = 1 << indexBits

const indexBits = 20

// NewHandle makes the handle of a life of the flow with a number.
func NewHandle(index, life uint32) Handle { return Handle(life<<indexBits | index&(MaxFlows-1)) }

// Index is the number of the flow.
func (h Handle) Index() uint32 { return uint32(h) & (MaxFlows - 1) }

// Life is which flow of that number it is, modulo 4096.
func (h Handle) Life() uint32 { return uint32(h) >> indexBits }

func (h Handle) String() string { return fmt.Sprintf("flow %d.%d", h.Index(), h.Life()) }

// Device is the boundary that TAURUS draws between NIC and host, as the host's software sees it:
// messages come up, and results and configuration go down. A driver for a real NIC implements it.
// It belongs to one core, the agent's; whatever it does besides runs elsewhere.
//
// What it answers at once is whether it could be asked. What the NIC then makes of it shows in
// Counters.
type Device interface {
	// Capabilities is what the device can do; it does not change.
	Capabilities() Capabilities
	// Configure binds a flow that the device has reported as Started. The zero Binding is what a
	// flow begins with.
	Configure(f Handle, b Binding) error
	// Aggregate sets how signals and messages are aggregated, from the next end of each period on.
	Aggregate(a Aggregation) error
	// Extract adds a custom segment, or moves the one with the same ID; a Length of 0 removes it.
	Extract(e Extraction) error
	// Probe asks for one probe of a flow, at once.
	Probe(f Handle) error
	// Fetch copies whole messages into b, which has room for one, in the memory layout of
	// docs/nicoffload.md, and answers how many bytes. What the NIC wrote there is not to be
	// trusted.
	Fetch(b []byte) int
	// Backlog answers how many Slots wait to be fetched, of how many there is room for.
	Backlog() (used, size int)
	// Write gives results to the NIC and answers how many it took; of the others the caller tries
	// again. The newest of a flow counts.
	Write(results []Result) int
	// Counters answers what went through, and what went wrong, since the device began. It does not
	// wait: they may be as old as the call before.
	Counters() Counters
}

// ErrBusy is what a Device answers that cannot be asked right now.
var ErrBusy = errors.New("the device is busy")

// ErrUnable is what a Device answers when it is asked for what it has not got.
var ErrUnable = errors.New("the device cannot do that")

// Capabilities says what a device can do.
type Capabilities struct {
	Name        string
	Flows       int           // at a time
	Extractions int           // custom segments
	Events      cc.EventSet   // that it reports
	Rates       bool          // it paces by itself, so that nobody else need
	MinRate     units.BitRate // what it can be told; 0 unknown
	MaxRate     units.BitRate
	Tick        units.Duration // the grain of its clock
}

// Binding says what a flow's algorithm wants.
type Binding struct {
	// Events is what is reported; 0 is everything. What is not bound does not cross.
	Events cc.EventSet
	// Raw is what is reported signal by signal, whatever the engine's class.
	Raw cc.EventSet
	// Merged is what is summed up although it is Raw by nature: an RTT, of which the newest sample
	// is told.
	Merged cc.EventSet
	// Brief asks for TAURUS's record only: 32 bytes, counts and one value.
	Brief bool
	// RTO makes the NIC raise an RTO event when what is in flight is not acknowledged for so long;
	// 0 leaves that to the transport.
	RTO units.Duration
	// ProbePackets and ProbeEvery attach a probe to each so manieth packet, or to the first packet
	// after so long; 0 does not. One of them may be set.
	ProbePackets uint16
	ProbeEvery   units.Duration
}

// Validate says what is wrong with a Binding.
func (b *Binding) Validate() error {
	switch {
	case b.ProbePackets != 0 && b.ProbeEvery != 0:
		return fmt.Errorf("nicoffload: binding: probes every %d packets and every %v: one of them",
			b.ProbePackets, b.ProbeEvery)
	case b.ProbeEvery < 0:
		return fmt.Errorf("nicoffload: binding: probes every %v", b.ProbeEvery)
	case b.RTO < 0:
		return fmt.Errorf("nicoffload: binding: a timeout of %v", b.RTO)
	case b.Merged&^cc.Events(cc.RTT) != 0:
		return fmt.Errorf("nicoffload: binding: %v cannot be merged, RTT alone can",
			b.Merged&^cc.Events(cc.RTT))
	case b.Raw&b.Merged != 0:
		return fmt.Errorf("nicoffload: binding: %v is to be both raw and merged", b.Raw&b.Merged)
	}
	return nil
}

// Aggregation is the two tiers of TAURUS's section 3.4: how long each engine collects signals into
// one message, and how many messages are moved at a time.
type Aggregation struct {
	Accumulable units.Duration // period; 0 reports every signal
	Coalescent  units.Duration
	Threshold   units.Bytes    // messages are flushed when they are more than that
	Deadline    units.Duration // or when the oldest has waited that long
}

// DefaultAggregation is for what the paper leaves open: periods a little above a round trip of its
// testbed (5 to 8 µs), and a threshold within its 128 to 512 bytes.
var DefaultAggregation = Aggregation{
	Accumulable: 10 * units.Microsecond, Coalescent: 20 * units.Microsecond,
	Threshold: 256, Deadline: 5 * units.Microsecond,
}

// Immediate reports every signal at once.
var Immediate = Aggregation{}

const (
	longestPeriod = units.Second
	maxThreshold  = 32 * units.KiB
)

// Validate says what is wrong with an Aggregation.
func (a *Aggregation) Validate() error {
	for _, d := range []struct {
		name string
		v    units.Duration
	}{{"accumulable period", a.Accumulable}, {"coalescent period", a.Coalescent},
		{"deadline", a.Deadline}} {
		if d.v < 0 || d.v > longestPeriod {
			return fmt.Errorf("nicoffload: aggregation: %s of %v, it is from 0 to %v", d.name, d.v,
				longestPeriod)
		}
	}
	if a.Threshold < 0 || a.Threshold > maxThreshold {
		return fmt.Errorf("nicoffload: aggregation: threshold of %v, it is from 0 to %v",
			a.Threshold, maxThreshold)
	}
	return nil
}

// PacketType says which packets an Extraction is about.
type PacketType uint8

// The packet types.
const (
	PacketData     PacketType = iota
	PacketAck                 // acknowledgements, and negative ones
	PacketCNP                 // congestion notification packets
	PacketProbe               // responses to probes
	PacketFeedback            // of a switch
	packetTypes
)

// Extraction says which bytes of packets of one type make a custom segment: never all of them.
type Extraction struct {
	ID     uint16 // of FirstCustom and up; it comes back in every message
	Packet PacketType
	Offset uint16 // from the beginning of what the pipeline shows: see docs/nicoffload.md
	Length uint16 // at most MaxSegment
}

// Validate says what is wrong with an Extraction.
func (e *Extraction) Validate() error {
	switch {
	case e.ID < FirstCustom:
		return fmt.Errorf("nicoffload: extraction: segment %d, those below %d are taken", e.ID,
			FirstCustom)
	case e.Packet >= packetTypes:
		return fmt.Errorf("nicoffload: extraction: there is no packet type %d", e.Packet)
	case e.Length > MaxSegment:
		return fmt.Errorf("nicoffload: extraction: %d bytes, %d at most", e.Length, MaxSegment)
	}
	return nil
}

// Result is what an algorithm decided for a flow, as it crosses. The NIC keeps the last one.
type Result struct {
	Flow     Handle
	Decision cc.Decision // WakeAt does not cross: the agent wakes
}

// Counters is what went through a device, and what went wrong. All count up.
type Counters struct {
	Signals  uint64 // reported to the NIC
	Messages uint64 // made of them
	Bursts   uint64 // flushes
	Bytes    uint64 // of messages flushed
	Results  uint64 // taken
	Probes   uint64 // attached, or asked for and sent

	Unbound uint64              // signals that nobody wanted
	Evicted [len(typeOf)]uint64 // raw messages that gave way to others, by cc.Kind
	Stale   uint64              // messages, results and signals of a flow that ended
	Unknown uint64              // flows that there are not
	// ends of a period at which there was no room: signals went on merging
	Held       uint64
	Refused    uint64 // commands that were no good
	Malformed  uint64 // records that could not be read
	ProbesLate uint64 // responses older than one that was heard, or that cannot be
}

// Datapath is the boundary's other side: what the packet pipeline tells the NIC, and asks of it. A
// NIC with a pipeline of its own has no need of it. It belongs to the polling core.
type Datapath interface {
	// Open begins a flow, with the decision that holds until there is a result; Close ends it.
	Open(f Handle, first cc.Decision, now units.Time)
	Close(f Handle, now units.Time)
	// Report is one signal. ev is borrowed for the call.
	Report(f Handle, ev *cc.Event, now units.Time)
	// Poll does what time brings and answers when it next has something to do.
	Poll(now units.Time) units.Time
	// Result fills in a result that is new, another one each time, and answers false when there is
	// none left.
	Result(r *Result) bool
	// Silence is for how long there has been something to fetch, and nobody did.
	Silence(now units.Time) units.Duration
}
