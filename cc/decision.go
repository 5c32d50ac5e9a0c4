package cc

import "github.com/goroce/goroce/units"

// Decision is what an algorithm says of a flow. The zero Decision stops it.
type Decision struct {
	// Window is how much payload may be unacknowledged. It may be less than a packet: the transport
	// then sends one packet whenever nothing is in flight, spaced by Rate. So below a packet it is
	// Rate that carries the precision, whole bits per second of windows that algorithms keep in
	// floating point; Window is the same number in whole bytes, 1 at least. 0 stops the flow.
	Window units.Bytes
	// Rate paces what leaves; 0 means as fast as the port goes.
	Rate units.BitRate
	// Hold stops the flow whatever Window says, until a later Decision.
	Hold bool
	// Tags is what Bolt wants on packets that leave from now on. BoltAI is for one packet: whoever
	// sends takes it from its copy then, and reports the TX.
	Tags BoltFlags
	// ProbeAt asks for one probe at this moment, whatever Window and Hold say; 0 means none.
	// Another moment asks for another probe, and the one before, if it has not left, does not leave
	// any more. The probe's echo is an RTT event, its loss an RTO event, each with Probe. It takes
	// the way of the flow's data and waits in the same queues.
	ProbeAt units.Time
	// WakeAt asks for a TIMER event at this moment; 0 means none.
	WakeAt units.Time
}

// Algorithm is one flow's congestion control. It is told what happened and answers what to do.
type Algorithm interface {
	// Events is the subset it wants to hear of; it does not change.
	Events() EventSet
	// On is one state transition: no I/O, no allocation, no clock but now.
	On(ev *Event, now units.Time) Decision
}

// Telemeter is an Algorithm that reads in-band telemetry: of as many switches, at most MaxHops.
type Telemeter interface {
	Telemetry() (hops int)
}

// Starter is an Algorithm whose first Decision is not made by an event. The transport's flows
// begin with Start; an Algorithm without it begins with a window of a MiB.
type Starter interface {
	Start(now units.Time) Decision
}

// Ranked is an Algorithm of a flow with a virtual priority: larger goes first.
type Ranked interface {
	Rank() int
}

// Controller runs the algorithms of many flows. The transport sees nothing else of congestion
// control.
type Controller interface {
	// Add begins a flow and answers its name; Remove ends it.
	Add(a Algorithm, now units.Time) Flow
	Remove(f Flow)
	// Wants is the event binding of the flow, so that nobody prepares what nobody hears.
	Wants(f Flow) EventSet
	// Report tells of an event. ev belongs to the caller and is valid during the call only.
	Report(ev *Event, now units.Time)
	// Decision answers the newest Decision of a flow, and true when it changed since it was last
	// asked for.
	Decision(f Flow) (Decision, bool)
	// Poll does what time alone brings, and answers when it next has something to do.
	Poll(now units.Time) units.Time
	// Changed answers a flow whose Decision Poll has changed, another one each time, and false when
	// there is none left.
	Changed() (Flow, bool)
}

// Observer is a Controller that can show the state of its flows.
type Observer interface {
	Snapshot(f Flow) Snapshot
}
