package cc

import (
	"errors"
	"strings"

	"github.com/goroce/goroce/units"
)

// A packet may be sent when admission allows it, in addition to the window. A flow has a [Gate] at
// its sender and a [Granter] at its receiver, which exchange [ControlMessage]s: RTS and TOKEN, or,
// between a [CreditGate] and a [CreditGranter], CREDIT. The tokens of receiver-driven congestion
// control are one such pair, the credits of a receiver's cache another. A flow may have both
// ([AllOf]): gates are independent, and none changes state before all agree. The transport carries
// ControlMessages without interpreting them, and reports which packets are sent and arrive.

// Gate is the sender's half. All byte counts are payload of SENDs and WRITEs; READs are not subject
// to admission. A Gate does no I/O, reads no clock but now, and allocates nothing.
type Gate interface {
	// Posted reports that a message of so many bytes was posted. Backlog.Waits includes it.
	Posted(bytes units.Bytes, b Backlog, now units.Time)
	// Ready reports whether the packet may leave. It changes nothing, except that a Gate may record
	// a refusal: Next is read afterwards.
	Ready(p *Outgoing, now units.Time) bool
	// Sent reports that the packet leaves, and returns what to put on it. Backlog.Waits still
	// includes it.
	Sent(p *Outgoing, now units.Time) Marks
	// Lost reports that packets of so many bytes that had left were lost and wait again. Backlog
	// includes them. With bytes 0, some of the backlog was withdrawn.
	Lost(bytes units.Bytes, b Backlog, now units.Time)
	// Receive processes a ControlMessage of the peer's Granter. It returns an error if the message
	// is invalid; it then changes nothing. The transport retransmits the ranges named by a valid
	// message.
	Receive(n *ControlMessage, b Backlog, now units.Time) error
	// Emit returns the ControlMessage to send next, and false when there is none. Next is not later
	// than now when it is called.
	Emit(b Backlog, now units.Time) (ControlMessage, bool)
	// Next returns when Emit is to be called; 0 never.
	Next() units.Time
	// Marks returns the marks that it puts on packets, which the transport and the peer must
	// support.
	Marks() MarkSet
}

// Granter is the receiver's half.
type Granter interface {
	// Arrived reports a data packet that arrived, in order or not, for the first time or again.
	Arrived(a *Arrival, now units.Time)
	// Missing reports packets, of at most so many bytes, that were sent and did not arrive: they
	// left before one that arrived, or only their headers arrived. Each is reported once.
	Missing(packets int, bytes units.Bytes, now units.Time)
	// Consumed reports that the program has finished with so many bytes of delivered messages.
	Consumed(bytes units.Bytes, now units.Time)
	// Receive processes a ControlMessage of the peer's Gate. It returns an error if it is invalid.
	Receive(n *ControlMessage, now units.Time) error
	// Emit returns the ControlMessage to send next, and false when there is none. incomplete
	// reports whether packets are missing that are to be sent again.
	Emit(incomplete bool, now units.Time) (ControlMessage, bool)
	// Next returns when Emit is to be called; 0 never.
	Next() units.Time
	// Rank orders the Granters of an endpoint whose TOKENs wait for their time, from 0 to Ranks-1:
	// higher ranks go first, equal ranks in round-robin, and a TOKEN that has waited for 50 ms
	// before all others. The rank when the wait begins counts.
	Rank() int
	// QueueCapacity returns the capacity of the endpoint's queue of TOKENs that wait for their
	// time. With 0 they wait in the Granter, and Emit is not called before their time. Otherwise
	// Emit is called at Next, and the TOKEN waits in the endpoint's queue; a TOKEN that finds the
	// queue full is dropped, as in a switch.
	QueueCapacity() int
	// Algorithm returns the congestion control of the grants; nil for none. The transport adds it
	// to its Controller as a flow of its own, and passes its decisions to Apply.
	Algorithm() Algorithm
	// Attach sets the Reporter of events before any other call. nil detaches the Granter at the end
	// of the connection; it then releases what it shares.
	Attach(r Reporter)
	// Apply applies a decision of Algorithm.
	Apply(d Decision, now units.Time)
}

// CreditGate is a Gate that admits messages by credits for lines of its receiver's cache; its
// ControlMessages are CREDITs. It ignores a CREDIT older than the newest one, but returns ErrForged
// for one that returns more credits than were taken.
type CreditGate interface {
	Gate
	// Terms returns the terms it supports. Lines is 0.
	Terms() CreditTerms
	// Agree sets the agreed terms before any other call. Lines is the initial number of credits of
	// the peer's Granter.
	Agree(t CreditTerms)
	// Answered reports that the program has the response to a message of so many bytes.
	Answered(bytes units.Bytes, now units.Time)
}

// CreditGranter is the Granter of a CreditGate. Its ControlMessages are not scheduled: Emit is
// called at Next, and earlier whenever a packet leaves that has room for one; Emit then returns
// false when there is nothing new. Arrived and Missing are not called; messages are reported
// instead.
type CreditGranter interface {
	Granter
	// Terms returns the terms it supports. It is called after Attach, which assigns its share of
	// common resources.
	Terms() CreditTerms
	// Agree sets the agreed terms before any other call but Attach. Lines is its own.
	Agree(t CreditTerms)
	// Delivered reports that a message of so many bytes that took credits has arrived completely.
	Delivered(bytes units.Bytes, now units.Time)
}

// AbsenceObserver is a CreditGranter that excludes times in which its host did not poll. Away is
// called before Delivered for a message that arrived meanwhile: durations measured then do not
// describe the program.
type AbsenceObserver interface {
	Away(d units.Duration, now units.Time)
}

// CreditTerms is what a CreditGate and its CreditGranter must agree on.
type CreditTerms struct {
	Line      units.Bytes // cache line size: what a credit stands for; a power of two
	Lines     uint32      // initial limit of unconsumed lines
	Responses bool        // a response returns the credits of its request
	// a WRITE without immediate takes credits, too: its receiver reports when it has consumed it
	Writes bool
}

// ErrForged is returned for a CREDIT that returns credits which were never taken.
var ErrForged = errors.New("cc: more credits are returned than were taken")

// Ranks is the number of ranks of Granters.
const Ranks = 8

// Reporter drives a Granter.
type Reporter interface {
	// Report processes an event of the Granter's own flow. The event is borrowed: valid during the
	// call. Apply may be called before Report returns.
	Report(ev *Event, now units.Time)
	// Reschedule reports that Next or Rank has changed without a call of this Granter, by another
	// one that shares state with it.
	Reschedule()
}

// Backlog is what a sender still has to send and to get acknowledged.
type Backlog struct {
	// Waits is what was posted and is not in flight: never sent, or lost and not sent again.
	Waits units.Bytes
	// InFlight is what was sent and is not acknowledged.
	InFlight units.Bytes
}

// Outgoing is a packet that is ready to leave.
type Outgoing struct {
	Bytes   units.Bytes // payload
	Message units.Bytes // length of the message that it begins; 0 inside one
	Again   bool        // it was sent before
	// Completes reports whether the message creates a completion for the peer's program: a SEND, or
	// a WRITE with immediate.
	Completes bool
	Backlog   // this packet is part of Waits
}

// MarkSet is the set of marks on a data packet for the peer's Granter, a bit each.
type MarkSet uint8

// The marks (ToCC, ToN 2025, section V).
const (
	MarkUnscheduled MarkSet = 1 << iota // sent without a token
	MarkWantsMore                       // more than a BDP is to be sent, this packet included
	// a token arrived with congestion experienced since the previous packet
	MarkTokenMarked
	MarkGrant // Marks.Grant names the grant that admitted it
)

// Marks is what a Gate puts on a packet.
type Marks struct {
	Set MarkSet
	// Grant is the number of the grant that admitted the packet (MarkGrant).
	Grant uint16
	// TrafficClass, DSCP and ECN, replaces the path's when Classed is set.
	TrafficClass uint8
	Classed      bool
}

// Arrival is a data packet that arrived.
type Arrival struct {
	Bytes units.Bytes // payload
	Set   MarkSet
	Grant uint16
	// Gap is how long the packet may have waited for this host to poll while the host was polling
	// and working, Away how long it may have waited while the host did something else; both are 0
	// where the port has time stamps.
	Gap, Away units.Duration
	Congested bool // marked by a switch
	Again     bool // a duplicate
	Behind    bool // a later packet arrived before: it was overtaken, sent again or duplicated
	AfterRTS  bool // it was first sent after the newest RTS that arrived
}

// ControlKind is the kind of a ControlMessage.
type ControlKind uint8

// The kinds.
const (
	RTS   ControlKind = iota // sender to receiver: the demand for tokens
	TOKEN                    // receiver to sender: what may be sent
	// receiver to sender: the space in its cache; with FlagQuery the sender's request
	CREDIT
	ControlKinds
)

func (k ControlKind) String() string {
	if k < ControlKinds {
		return [ControlKinds]string{"RTS", "TOKEN", "CREDIT"}[k]
	}
	return "unknown control message"
}

// ControlFlags qualifies a ControlMessage.
type ControlFlags uint8

// The flags.
const (
	FlagRepeat      ControlFlags = 1 << iota // repeats an earlier message that got no response
	FlagUnscheduled                          // RTS: unscheduled packets accompany it
	// TOKEN: requests an RTS that replies to it; CREDIT: requests a CREDIT
	FlagQuery
	FlagReply // RTS: Seq is that of the TOKEN with FlagQuery
	// TOKEN: grants Limit bytes once, and not again when it is lost
	FlagSingle
	FlagEnd // RTS: the backlog is empty
	_       // of the wire alone
	// RTS: packets were retransmitted since the RTS before it
	FlagAgain
)

func (f ControlFlags) String() string {
	var names []string
	for i, name := range [...]string{"repeat", "unscheduled", "query", "reply", "single", "end", "",
		"again"} {
		if f>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// CacheState is the state of a receiver's last-level cache (CARC, APNet '25, section 3), a bit
// each.
type CacheState uint8

// The states.
const (
	CacheIdle CacheState = 1 << iota // the program waits for data
	// more is unconsumed than fits into the ways that a NIC writes to
	CacheBeyondDDIO
	CacheApproaching // reads are about to miss
)

// ControlMessage is a message between a Gate and a Granter. Counters are cumulative from the
// beginning of the connection, modulo their width, so that a lost, duplicated or late message does
// no harm; a FlagSingle is the exception.
type ControlMessage struct {
	Kind  ControlKind
	Flags ControlFlags

	Demand uint32 // RTS: Spent and the backlog that needs tokens
	Spent  uint32 // RTS: bytes of tokens used or discarded
	// Discarded is the discarded part of Spent in an RTS, modulo 2^24. An RTS may overtake data, so
	// Spent alone does not determine which tokens are in flight with data.
	Discarded uint32
	CE        uint16 // RTS: tokens that arrived with congestion experienced
	Limit     uint32 // TOKEN: bytes granted
	// Seq is the number of a TOKEN, also in an RTS with FlagReply.
	Seq uint16
	// Priority is the priority of the data that a TOKEN releases, 0 the lowest (Homa: the grant
	// carries the priority).
	Priority uint8

	// Credits is, in a CREDIT, how many lines of the receiver's cache may be unconsumed at once,
	// and Epoch counts the changes of that number.
	Credits uint32
	Epoch   uint8
	// Returned is, in a CREDIT, how many lines the receiver's program has consumed; with
	// FlagQuery, how many the sender knows of.
	Returned uint64
	// Cache is, in a CREDIT, the state of the receiver's cache.
	Cache CacheState
	// Waited and Served are, in a CREDIT, how long the newest consumed message waited for the
	// program, and how long the program took; 0 is unknown.
	Waited, Served units.Duration

	// Gap is how long a received message may have waited for this host to poll, as in Arrival.
	Gap units.Duration
	// Congested reports whether a switch marked a received message.
	Congested bool
	// Releases is how much of the link, in bytes on the wire, the data takes that an emitted TOKEN
	// releases. The transport spaces the endpoint's TOKENs by it and by their own length; 0
	// disables the spacing.
	Releases units.Bytes
	// TrafficClass is DSCP and ECN of an emitted message if Classed is set; otherwise the message
	// has the class of ACKs.
	TrafficClass uint8
	Classed      bool
	// WithData makes an emitted message wait behind the data that was sent, in the data's class.
	WithData bool
	// Missing requests that the transport lists the missing packets in an emitted message.
	Missing bool
}
