package cc

import (
	"errors"
	"strings"

	"github.com/goroce/goroce/units"
)

// Admission: what else than a window must say yes before a packet leaves. A flow has a [Gate] at
// its sender and a [Granter] at its receiver, which speak to each other by [Notice]s. Tokens of
// receiver-driven congestion control are such a pair, credits of a receiver's cache another; a flow
// may have both, for gates are independent of each other and none does anything before all agree.
// The transport carries Notices without knowing what they mean, and says which packets leave and
// arrive.

// A Gate and a Granter speak of tokens, by RTS and TOKEN, unless they are a [CreditGate] and a
// [CreditGranter]; [AllOf] makes one Gate of several.

// Gate is the sender's half. All numbers of bytes are payload of SENDs and WRITEs: nobody admits
// READs. It does no I/O, reads no clock but now, and allocates nothing.
type Gate interface {
	// Posted says that a message of so many bytes was posted. What waits includes it.
	Posted(bytes units.Bytes, b Backlog, now units.Time)
	// Ready says whether the packet may leave. It changes nothing, but that a Gate may note that it
	// said no: Next is looked at then.
	Ready(p *Outgoing, now units.Time) bool
	// Took says that the packet leaves, and answers what to put on it. What waits includes it
	// still.
	Took(p *Outgoing, now units.Time) Marks
	// Lost says that what had left waits again: packets of so many bytes were lost. Backlog
	// includes them. Of none it says that some of what waits was taken back.
	Lost(bytes units.Bytes, b Backlog, now units.Time)
	// Hear takes in a Notice of the peer's Granter. It answers nil, or why the Notice is void: then
	// it changed nothing. Ranges of a Notice that is not void are the transport's to send again.
	Hear(n *Notice, b Backlog, now units.Time) error
	// Emit answers the Notice to send next, and false when there is none. Next is not later than
	// now before it.
	Emit(b Backlog, now units.Time) (Notice, bool)
	// Next is when it wants to be asked to Emit; 0 never.
	Next() units.Time
	// Wants says which parts of Marks it needs the transport and the peer to have.
	Wants() MarkSet
}

// Granter is the receiver's half.
type Granter interface {
	// Arrived tells of a packet of data that came, in order or not, for the first time or again.
	Arrived(a *Arrival, now units.Time)
	// Missing tells of packets of so many bytes, at most, that were sent and did not come: they
	// left before one that is here, or only their headers came. Each is told once.
	Missing(packets int, bytes units.Bytes, now units.Time)
	// Consumed says that the program is done with so many bytes of messages that were delivered.
	Consumed(bytes units.Bytes, now units.Time)
	// Hear takes in a Notice of the peer's Gate. It answers nil, or why the Notice is void.
	Hear(n *Notice, now units.Time) error
	// Emit answers the Notice to send next, and false when there is none. Incomplete says whether
	// packets are missing that are to be sent again.
	Emit(incomplete bool, now units.Time) (Notice, bool)
	// Next is when it wants to be asked to Emit; 0 never.
	Next() units.Time
	// Rank orders the Granters of an endpoint whose TOKENs wait for their time: the higher first,
	// of equals by turns, but one that has waited for 50 ms before all; from 0 to Ranks-1. That of
	// when one begins to wait counts.
	Rank() int
	// Queue says where TOKENs wait for their time. With 0 in the Granter: it is not asked to Emit
	// before. Else it is asked at Next, and what it emits waits in the endpoint's queue, which
	// holds so many: what finds it full is dropped, as in a switch.
	Queue() int
	// Algorithm is the congestion control of what it grants; nil for none. The transport gives it a
	// flow of its own at its Controller, and Decide brings what comes of it.
	Algorithm() Algorithm
	// Attach names, before anything else, whom to tell of events; nil at the end, when it gives up
	// what it shares.
	Attach(r Reporter)
	Decide(d Decision, now units.Time)
}

// CreditGate is a Gate that lets messages go on credits for lines of its receiver's cache: its
// Notices are CREDITs. What it hears of an older one, that came late, is nothing; but one that
// returns more than was taken is ErrForged.
type CreditGate interface {
	Gate
	// Terms is what it would agree to. Lines is 0.
	Terms() CreditTerms
	// Agree says, before anything else, what was agreed. Lines is what the peer's Granter gives at
	// first.
	Agree(t CreditTerms)
	// Answered says that the program has the response to a message of so many bytes.
	Answered(bytes units.Bytes, now units.Time)
}

// CreditGranter is the Granter of a CreditGate. What it has to say waits for no turn: it is asked
// to Emit at Next, and before whenever a packet leaves that has room for it. Then false is that
// there is nothing new. Of packets it hears nothing (Arrived, Missing), but of messages.
type CreditGranter interface {
	Granter
	// Terms is what it would agree to. That is after Attach, for it has a part in something then.
	Terms() CreditTerms
	// Agree says, before anything else but Attach, what was agreed. Lines is its own.
	Agree(t CreditTerms)
	// Delivered says that a message which took credits is here, whole, of so many bytes.
	Delivered(bytes units.Bytes, now units.Time)
}

// Absentee is a CreditGranter that takes into account for how long its host did not poll, before a
// message that came meanwhile is Delivered: what it measures by time says nothing of its program
// then.
type Absentee interface {
	Away(d units.Duration, now units.Time)
}

// CreditTerms is what a CreditGate and its CreditGranter must agree on.
type CreditTerms struct {
	Line      units.Bytes // of the cache: what a credit is for; a power of two
	Lines     uint32      // how many may be unconsumed at once, at first
	Responses bool        // a response returns the credits of its request
	// a WRITE without immediate takes credits, too: its receiver says when it has consumed it
	Writes bool
}

// ErrForged is that a peer returns credits which were never taken.
var ErrForged = errors.New("cc: more credits are returned than were taken")

// Ranks is how many ranks Granters have.
const Ranks = 8

// Reporter is who drives a Granter.
type Reporter interface {
	// Report takes in an event of the Granter's own flow. The event is borrowed: valid during the
	// call. Decide may be called before it returns.
	Report(ev *Event, now units.Time)
	// Ask says that Next or Rank has changed without a call of this Granter: of Granters that share
	// something.
	Ask()
}

// Backlog is what a sender has in hand.
type Backlog struct {
	// Waits is what was posted and is not under way: what never left, and what was lost and not
	// sent again.
	Waits units.Bytes
	// InFlight is what has left and is not acknowledged.
	InFlight units.Bytes
}

// Outgoing is a packet that wants to leave.
type Outgoing struct {
	Bytes   units.Bytes // payload
	Message units.Bytes // length of the message that it begins; 0 inside one
	Again   bool        // it was sent before
	// Completes says that the peer's program gets a completion of its message: a SEND, or a WRITE
	// with immediate.
	Completes bool
	Backlog   // this packet among what Waits
}

// MarkSet is what stands on a packet of data for the peer's Granter, a bit each.
type MarkSet uint8

// The marks (ToCC, ToN 2025, section V).
const (
	MarkUnscheduled MarkSet = 1 << iota // sent without a token
	MarkWantsMore                       // more than a BDP is to be sent, this packet included
	// a token came with congestion experienced since the packet before
	MarkTokenMarked
	MarkGrant // Marks.Grant says by which grant it left
)

// Marks is what a Gate wants on a packet.
type Marks struct {
	Set MarkSet
	// Grant is the number of the grant that let it leave (MarkGrant).
	Grant uint16
	// TrafficClass, DSCP and ECN, is used in place of the path's when Classed is set.
	TrafficClass uint8
	Classed      bool
}

// Arrival is a packet of data that came.
type Arrival struct {
	Bytes units.Bytes // payload
	Set   MarkSet
	Grant uint16
	// Gap is how long the packet may have waited for this host to poll, while it did nothing else
	// but poll and work, and Away how long it may have waited while the host did something else; 0
	// where the port has time stamps.
	Gap, Away units.Duration
	Congested bool // a switch marked it
	Again     bool // the packet was here before
	Behind    bool // one that follows it was here before: it was overtaken, sent again or doubled
}

// NoticeKind says what a Notice is of.
type NoticeKind uint8

// The kinds.
const (
	NoticeRTS   NoticeKind = iota // sender to receiver: what waits for tokens
	NoticeToken                   // receiver to sender: what may be sent
	// receiver to sender: what its cache has room for; with NoticeAsks the sender's question
	NoticeCredit
	NoticeKinds
)

func (k NoticeKind) String() string {
	if k < NoticeKinds {
		return [NoticeKinds]string{"RTS", "TOKEN", "CREDIT"}[k]
	}
	return "unknown notice"
}

// NoticeFlags says more.
type NoticeFlags uint8

// The flags.
const (
	NoticeRepeat      NoticeFlags = 1 << iota // said before, and not heard of since
	NoticeUnscheduled                         // RTS: unscheduled packets go with it
	// TOKEN: it wants an RTS that Answers it; CREDIT: it wants a CREDIT
	NoticeAsks
	NoticeAnswers // RTS: Seq is of the TOKEN that asked
	// TOKEN: it is worth Limit bytes once, and lost when it is lost
	NoticeSingle
	NoticeEnds // RTS: nothing waits any more
	noticeFlagsEnd
)

func (f NoticeFlags) String() string {
	var names []string
	for i, name := range [...]string{"repeat", "unscheduled", "asks", "answers", "single", "ends"} {
		if f>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// KnownNoticeFlags is all flags that mean something.
const KnownNoticeFlags = noticeFlagsEnd - 1

// CacheState is what a receiver says of its last-level cache (CARC, APNet '25, section 3), a bit
// each.
type CacheState uint8

// The states.
const (
	CacheIdle CacheState = 1 << iota // the program waits for data
	// more is unconsumed than the ways that a NIC writes to hold
	CacheBeyondDDIO
	CacheApproaching // reads are about to miss
)

// Notice is what a Gate and a Granter tell each other. Counters are cumulative from the beginning
// of the connection, modulo their width, so that a Notice that is lost, doubled or late does no
// harm; but that of a NoticeSingle.
type Notice struct {
	Kind  NoticeKind
	Flags NoticeFlags

	Demand uint32 // RTS: Spent and what waits for tokens
	Spent  uint32 // RTS: bytes of tokens used or discarded
	// Discarded is, in an RTS, what of Spent was discarded, modulo 2^24. An RTS may overtake data,
	// so Spent alone does not tell which tokens are under way with data.
	Discarded uint32
	CE        uint16 // RTS: tokens that came with congestion experienced
	Limit     uint32 // TOKEN: bytes granted
	// Seq is the number of a TOKEN; in an RTS that answers one, of that.
	Seq uint16
	// Priority is that of the data which a TOKEN lets go, 0 the lowest (Homa: a grant has the
	// priority).
	Priority uint8

	// Credits is, in a CREDIT, how many lines of the receiver's cache may be unconsumed at once,
	// and Epoch counts how often that changed.
	Credits uint32
	Epoch   uint8
	// Returned is, in a CREDIT, how many lines the receiver's program is done with: in one that
	// asks, how many the sender knows of.
	Returned uint64
	// Cache is, in a CREDIT, how the receiver's cache fares.
	Cache CacheState
	// Waited and Served are, in a CREDIT, how long the newest message that the program is done with
	// waited for it, and how long it took; 0 is not known.
	Waited, Served units.Duration

	// Gap is how long the Notice may have waited for this host to poll, as Arrival has it. Of one
	// that was heard.
	Gap units.Duration
	// Congested says that a switch marked the Notice. Of one that was heard.
	Congested bool
	// Releases is how much of the link, in bytes on the wire, is taken by what a TOKEN lets go. The
	// transport spaces the endpoint's TOKENs by it and by their own length; 0 does not. Of one that
	// is emitted.
	Releases units.Bytes
	// TrafficClass, DSCP and ECN, is that of the Notice when Classed is set; else ACKs' is. Of one
	// that is emitted.
	TrafficClass uint8
	Classed      bool
	// WithData has the Notice wait behind the data that has left, in the data's class. Of one that
	// is emitted.
	WithData bool
	// Missing has the transport say which packets are missing. Of one that is emitted.
	Missing bool
}
