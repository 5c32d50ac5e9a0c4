package cc

import (
	"strings"

	"github.com/goroce/goroce/units"
)

// Kind is what happened to a flow.
type Kind uint8

// The events of TAURUS Table 3, and three of ours (CNP, TIMER, POST).
const (
	ACK   Kind = iota // data newly acknowledged, without a delay sample
	ECN               // an acknowledgement that echoes a congestion mark
	OOO               // the receiver saw a sequence gap (NAK, SACK)
	RTO               // the retransmission timer fired, or a probe did not come back in its time
	RTT               // data newly acknowledged, with a delay sample; or the echo of a probe
	TX                // a data packet left
	CST               // a custom segment of a packet was extracted
	HOST              // a sample of the host's own state
	CNP               // a congestion notification packet arrived (RoCEv2 annex A17.9.3)
	TIMER             // the time that the flow's Decision requested (WakeAt)
	POST              // something to send was posted on a flow that had nothing left
	kinds
)

var kindNames = [kinds]string{"ACK", "ECN", "OOO", "RTO", "RTT", "TX", "CST", "HOST", "CNP",
	"TIMER", "POST"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown event"
}

// EventSet is the set of events that an algorithm processes: its event binding.
type EventSet uint16

// Events returns the set of the given kinds.
func Events(ks ...Kind) EventSet {
	var s EventSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
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

// Event is one event of one flow. Fields that do not apply to the Kind are zero. Zero means unknown
// unless stated otherwise.
//
// One acknowledgement is one Event: an RTT if it has a delay sample and the algorithm binds RTT,
// else an ECN if it echoes a mark and the algorithm binds ECN, else an ACK. These three are filled
// alike, so an algorithm that binds all of them gets each acknowledgement exactly once.
type Event struct {
	Kind Kind
	Flow Flow // filled by the transport in every event

	// PSN is the packet the event is about: the first one not yet acknowledged for ACK, ECN and
	// RTT, the one that left for TX, the one that is missing for OOO and RTO. 24 bits.
	PSN uint32
	// SndNxt is the PSN the sender will use next. 24 bits; filled by the transport in every event
	// but TIMER.
	SndNxt uint32
	// Packets and Bytes are newly acknowledged (ACK, ECN, RTT) or just sent (TX); payload only. A
	// duplicate acknowledgement has 0.
	Packets int
	Bytes   units.Bytes
	// Marked is how many of the newly acknowledged Packets were marked by a switch (CE), as echoed
	// by the receiver (ACK, ECN, RTT).
	Marked int

	// Probe marks the event of a probe instead of data (RTT, RTO): it acknowledges nothing, and
	// Packets and Bytes are 0. Only algorithms that request probes get it.
	Probe bool
	// Delay is the round-trip sample of an RTT event, host and fabric together, from the moment the
	// packet left to the moment its acknowledgement was processed. A packet that was sent more than
	// once gives none.
	Delay units.Duration
	// Endpoint is the part of Delay that is known to have passed in the two hosts, Swift's (t3-t2)
	// + (t5-t4): filled when the path gives SignalEndpoint.
	Endpoint units.Duration
	// LocalGap and RemoteGap are how much more of Delay may have passed in this host and in the
	// other one. A frame that a port without time stamps delivers after a poll gap arrived at some
	// moment of that gap, and a frame of a round left at some moment of that round. Both are 0
	// where ports have time stamps; RemoteGap is also 0, for lack of information, where the path
	// does not give SignalEndpoint.
	LocalGap, RemoteGap units.Duration
	// LocalAway and RemoteAway are how much of Endpoint and the gap this host and the other one did
	// not poll at all: the poller napped, or its core ran something else. The rest is work that
	// queued there.
	LocalAway, RemoteAway units.Duration
	// OneWay is the forward delay of the packet that gave Delay: filled when the path gives
	// SignalOneWay. It is the arrival time by the receiver's clock less the departure time by the
	// sender's, so only differences of two samples are meaningful, in whole nanoseconds modulo
	// 2^32, as int32.
	OneWay units.Duration
	// Hops is how many switches the data packet passed, from its TTL at the receiver.
	Hops int

	// InFlight is what is unacknowledged after the event; payload only. Filled by the transport in
	// every event but TIMER; here 0 means nothing.
	InFlight units.Bytes
	// Left is what is posted on the flow and not yet acknowledged, InFlight included; payload only.
	// It is filled like InFlight, by a transport that counts it, for reliable connections. In a TX
	// event it is at least Bytes, so 0 there means that the transport does not count it. It is at
	// least 1 while anything is posted: messages without payload are sent and acknowledged, too.
	Left units.Bytes

	// INT is the telemetry of the switches of the forward path in the newest of the acknowledged
	// packets, in path order (ACK, ECN, RTT; when the path gives SignalINT). It is borrowed: valid
	// during the call.
	INT []Hop
	// Bolt is the union of the flags that an acknowledgement echoes for its packets, and Increases
	// the number of its packets that had BoltINC (ACK, ECN, RTT; when the path gives SignalSRC).
	Bolt      BoltFlags
	Increases int
	// SRC is a switch's report of its queue: in a CST event sent back by the switch itself, in an
	// acknowledgement with BoltDEC written into the data packet.
	SRC SRC
	// Host is the sample of a HOST event.
	Host HostSample
}

// maxDelay bounds round trips: a longer one indicates a clock that stepped.
const maxDelay = units.Second

// timed reports whether the delays of an RTT event are possible.
func (ev *Event) timed() bool {
	return ev.Delay > 0 && ev.Delay <= maxDelay && ev.Endpoint >= 0 && ev.Endpoint < ev.Delay &&
		ev.LocalGap >= 0 && ev.RemoteGap >= 0 && ev.LocalAway >= 0 && ev.RemoteAway >= 0
}

// gap returns how much of Delay may have passed in either host beyond Endpoint.
func (ev *Event) gap() units.Duration { return ev.LocalGap + ev.RemoteGap }

// Fabric returns the bounds of the part of Delay that passed in the fabric, and false when the
// event has no delay, or an impossible one. Without poll gaps the bounds are equal. A controller
// cuts by the least: the delay of its own host is not congestion.
func (ev *Event) Fabric() (least, most units.Duration, ok bool) {
	most = ev.Delay - ev.Endpoint
	return max(most-ev.gap(), 1), most, ev.Kind == RTT && ev.timed()
}

// FabricDelay returns the least delay of the fabric, and false when there is no sample.
func (ev *Event) FabricDelay() (units.Duration, bool) {
	least, _, ok := ev.Fabric()
	return least, ok
}

// FabricNear returns the possible delay of the fabric that is nearest to d: the sample itself when
// it is exact. It returns false when there is no sample.
func (ev *Event) FabricNear(d units.Duration) (units.Duration, bool) {
	least, most, ok := ev.Fabric()
	return min(max(d, least), most), ok
}

// hosts returns the most of Delay that may have passed in the two hosts while they polled, without
// the gap of this host, whose own work does not depend on the window.
func (ev *Event) hosts() units.Duration {
	return max(0, min(ev.Endpoint+ev.RemoteGap, ev.Delay)-ev.away())
}

// away returns how much of Delay may be time in which a host did not poll.
func (ev *Event) away() units.Duration { return ev.LocalAway + ev.RemoteAway }

// present returns Delay without the time in which a host did not poll.
func (ev *Event) present() units.Duration { return max(1, ev.Delay-ev.away()) }

// roundTrip returns the bounds of Delay without the time in which a host did not poll, as far as
// that is known.
func (ev *Event) roundTrip() (least, most units.Duration) {
	gap, away := ev.gap(), ev.away()
	return max(1, ev.Delay-max(gap, away)), max(1, ev.Delay-max(0, away-gap))
}

// Acknowledges reports whether the packet psn, and with it all before, is acknowledged (ACK, ECN,
// RTT).
func (ev *Event) Acknowledges(psn uint32) bool { return psnAfter(ev.PSN, psn) }

// Hop is in-band telemetry of one switch port, taken as the packet left it. Time and Sent count
// modulo their width.
type Hop struct {
	Port  uint16 // which port of which switch
	Rate  units.BitRate
	Time  uint32      // nanoseconds of the switch's clock
	Sent  uint32      // bytes, by the port since it came up, of all classes
	Queue units.Bytes // behind the packet
}

// SRC is sub-RTT feedback of Bolt: a switch reports to the sender how long its queue takes to
// drain.
type SRC struct {
	Drain units.Duration // of the queue, at Rate
	Rate  units.BitRate  // of the queue's port
	// departure time of the packet that met the queue, by the sender's clock; 0 unknown
	Sent units.Time
}

// HostSample is a sample of the host's own state. The sampler and the algorithm agree on the
// meaning of the value.
type HostSample struct {
	Sampler uint16 // number of the sampler, assigned by the program that runs the samplers
	Value   float64
}
