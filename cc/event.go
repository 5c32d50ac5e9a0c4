package cc

import (
	"strings"

	"github.com/goroce/goroce/units"
)

// Kind says what happened to a flow.
type Kind uint8

// The events of TAURUS Table 3, and two of ours (CNP, TIMER).
const (
	ACK   Kind = iota // data newly acknowledged, without a delay sample
	ECN               // an acknowledgement that echoes a congestion mark
	OOO               // the receiver saw a sequence gap (NAK, SACK)
	RTO               // the retransmission timer fired
	RTT               // data newly acknowledged, with a delay sample
	TX                // a data packet left
	CST               // a custom segment of a packet was extracted
	HOST              // a sample of the host's own state
	CNP               // a congestion notification packet arrived (RoCEv2 annex A17.9.3)
	TIMER             // the moment the flow's Decision asked to be woken at
	kinds
)

var kindNames = [kinds]string{"ACK", "ECN", "OOO", "RTO", "RTT", "TX", "CST", "HOST", "CNP", "TIMER"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown event"
}

// EventSet is the set of events an algorithm wants: its event binding.
type EventSet uint16

// Events makes a set of the kinds named.
func Events(ks ...Kind) EventSet {
	var s EventSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has says whether k is in the set.
func (s EventSet) Has(k Kind) bool { return s>>k&1 != 0 }

func (s EventSet) String() string {
	var names []string
	for k := range kinds {
		if s.Has(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, "|")
}

// Flow names a flow to a Controller: the transport uses one per queue pair.
type Flow uint32

// Event is one thing that happened to one flow. Fields that the Kind does not speak of are zero.
type Event struct {
	Kind Kind
	Flow Flow

	// PSN is the packet the event is about: the first one not yet acknowledged for ACK, ECN and
	// RTT, the one that left for TX, the one that is missing for OOO and RTO. 24 bits.
	PSN uint32
	// SndNxt is the PSN the sender will use next. 24 bits.
	SndNxt uint32
	// Packets and Bytes are newly acknowledged (ACK, ECN, RTT) or just sent (TX); payload only.
	Packets int
	Bytes   units.Bytes
	// Marked is how many of the newly acknowledged Packets were marked by a switch (CE), as the
	// receiver echoes it (ACK, ECN, RTT).
	Marked int
	// Delay is the round-trip sample of an RTT event.
	Delay units.Duration
	// Endpoint is the part of Delay that passed in the two hosts, Swift's (t3-t2) + (t5-t4): filled when
	// the path gives SignalEndpoint.
	Endpoint units.Duration
	// Hops is how many switches the data packet passed, from its TTL at the receiver.
	Hops int
	// InFlight is what is unacknowledged after the event; payload only.
	InFlight units.Bytes
}
