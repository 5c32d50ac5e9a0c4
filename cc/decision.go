package cc

import "github.com/goroce/goroce/units"

// Decision is what an algorithm decides for a flow. The zero Decision stops it.
type Decision struct {
	// Window is how much payload may be unacknowledged. It may be less than a packet: the transport
	// then sends one packet whenever nothing is in flight, spaced by Rate. Below a packet Rate
	// carries the precision, in whole bits per second of windows that algorithms keep in floating
	// point; Window is the same number in whole bytes, at least 1. 0 stops the flow.
	Window units.Bytes
	// Rate paces what leaves; 0 means as fast as the port goes.
	Rate units.BitRate
	// Hold stops the flow whatever Window is, until a later Decision.
	Hold bool
	// Tags is the set of Bolt's flags on packets that leave from now on. BoltAI is for one packet:
	// the sender then clears it in its copy and reports the TX.
	Tags BoltFlags
	// ProbeAt requests one probe at this moment, whatever Window and Hold are; 0 means none. A
	// different moment requests another probe and cancels the previous one if it has not left. The
	// probe's echo is an RTT event, its loss an RTO event, each with Probe. It takes the path of
	// the flow's data and waits in the same queues.
	ProbeAt units.Time
	// WakeAt requests a TIMER event at this moment; 0 means none.
	WakeAt units.Time
}

// Algorithm is one flow's congestion control: events in, decisions out.
type Algorithm interface {
	// Events returns the subset it processes; it does not change.
	Events() EventSet
	// On is one state transition: no I/O, no allocation, no clock but now.
	On(ev *Event, now units.Time) Decision
}

// Telemeter is an Algorithm that reads in-band telemetry of up to hops switches, at most MaxHops.
type Telemeter interface {
	Telemetry() (hops int)
}

// Starter is an Algorithm whose first Decision does not depend on an event. Flows of the transport
// begin with Start; an Algorithm without it begins with a window of 1 MiB.
type Starter interface {
	Start(now units.Time) Decision
}

// Ranked is an Algorithm of a flow with a virtual priority: a larger rank goes first.
type Ranked interface {
	Rank() int
}

// Controller runs the algorithms of many flows. It is the transport's only interface to congestion
// control.
type Controller interface {
	// Add begins a flow and returns its name; Remove ends it.
	Add(a Algorithm, now units.Time) Flow
	Remove(f Flow)
	// Events returns the event binding of the flow, so that the transport prepares no other events.
	Events(f Flow) EventSet
	// Report processes an event. ev belongs to the caller and is valid during the call only.
	Report(ev *Event, now units.Time)
	// Decision returns the newest Decision of a flow, and true when it changed since the last call.
	Decision(f Flow) (Decision, bool)
	// Poll runs what is due, and returns when it is to be called next.
	Poll(now units.Time) units.Time
	// Changed returns a flow whose Decision was changed by Poll, each once, and false when there is
	// none left.
	Changed() (Flow, bool)
}

// Observer is a Controller that can show the state of its flows.
type Observer interface {
	Snapshot(f Flow) Snapshot
}
