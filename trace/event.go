package trace

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Event is one event. The schema names the fields that a Kind uses; the others are zero.
type Event struct {
	At     units.Time
	Kind   Kind
	Reason Reason
	Op     wire.Opcode
	Flags  Flags
	From   State   // state before
	To     State   // state after
	Cause  cc.Kind // event of congestion control to which a decision responds
	Class  uint8   // traffic class, or PFC priority

	QP     wire.QPN // the queue pair at this end; 0 for events of a host or port
	PSN    wire.PSN
	Count  uint32 // packets that the event is about, or times
	Marked uint32 // of Count, packets with congestion experienced

	Bytes    units.Bytes // payload that the event is about
	InFlight units.Bytes // payload that is unacknowledged after the event
	Packets  uint64      // cumulative over the life of the queue pair
	Total    units.Bytes // payload, cumulative over the life of the queue pair

	Window units.Bytes
	Rate   units.BitRate
	Target units.Duration
	Delay  units.Duration // round-trip sample, or how long something lasted
	Host   units.Duration // part of Delay that passed in the two hosts, at least
	Place  Place          // port of a network, by Ring.Place
}

// Flags are the properties of an event that are true or false, a bit each.
type Flags uint8

// The flags.
const (
	CE    Flags = 1 << iota // the packet arrived with congestion experienced
	Hold                    // congestion control lets nothing leave
	Acks                    // the packet requests an acknowledgement
	Probe                   // of a probe instead of data
)

// State is the state of a queue pair.
type State uint8

// The states, in the order of transport.State.
const (
	Reset State = iota
	Init
	RTR
	RTS
	SQD
	SQE
	Err
	states
)

var stateNames = [states]string{"reset", "init", "rtr", "rts", "sqd", "sqe", "error"}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "unknown"
}

// Reason is why something happened: why a packet was lost or refused, why congestion control cut,
// or what limited a sender.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota

	// Why packets count as lost.
	LostNAK      // the peer refused what followed a gap
	LostSACK     // later packets have arrived
	LostTimeout  // no acknowledgement in time
	LostNotReady // the peer had no receive posted
	LostResponse // a response is missing, or later ones have arrived
	LostReport   // the peer's granter listed it as missing

	// Codes of NAKs.
	NAKSequence
	NAKNotReady // RNR
	NAKInvalidRequest
	NAKRemoteAccess
	NAKRemoteOperational

	// Why a received packet was not executed at once.
	Duplicate
	OutOfOrder

	// Why congestion control cut, as cc.Reason.
	CutDelay
	CutEndpoint
	CutMark
	CutCNP
	CutLoss
	CutTimeout
	CutTelemetry
	CutSwitch
	Yielded

	// What limited a sender.
	LimitProgram  // nothing to send
	LimitQueue    // the send queue is full of requests that are not complete
	LimitWindow   // the window of congestion control, or the PSNs in flight
	LimitPace     // the rate of congestion control
	LimitHold     // congestion control let nothing leave
	LimitTokens   // the gate waited for tokens
	LimitCredits  // the gate waited for credits
	LimitNotReady // the peer was not ready, or its readiness unknown
	LimitReads    // as many READs and atomics outstanding as may be, or a fence
	LimitPort     // the port had no room or no buffer
	LimitNeighbor // the MAC address of the next hop is unknown
	LimitTurn     // other queue pairs have their turn
	LimitState    // the state of the queue pair lets nothing leave

	// Control messages of admission.
	RequestToSend
	Token
	Credit

	// Why a switch or a port dropped a frame.
	BufferFull
	Corrupted
	LinkDown
	reasons
)

var reasonNames = [reasons]string{"none",
	"nak", "sack", "timeout", "receiver_not_ready", "response_missing", "loss_report",
	"sequence", "rnr", "invalid_request", "remote_access", "remote_operational",
	"duplicate", "out_of_order",
	"cut_delay", "cut_endpoint", "cut_mark", "cut_cnp", "cut_loss", "cut_timeout",
	"cut_telemetry", "cut_switch", "yielded",
	"program", "send_queue", "window", "pace", "hold", "tokens", "credits", "receiver", "reads",
	"port", "neighbor", "turn", "state",
	"rts", "token", "credit",
	"buffer_full", "corrupted", "link_down"}

func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Limits are the reasons that can limit a sender, in the order of reports.
var Limits = []Reason{LimitProgram, LimitQueue, LimitWindow, LimitPace, LimitHold, LimitTokens,
	LimitCredits, LimitNotReady, LimitReads, LimitPort, LimitNeighbor, LimitTurn, LimitState}

// Cut returns the reason of a cut of congestion control.
func Cut(r cc.Reason) Reason {
	if r == cc.NoCut || int(r) >= cc.Reasons {
		return NoReason
	}
	return CutDelay + Reason(r-cc.CutDelay)
}

// Limit returns the reason for which a sender waits at a gate of tokens or of credits.
func Limit(credits bool) Reason {
	if credits {
		return LimitCredits
	}
	return LimitTokens
}
