// Package cc implements congestion control: algorithms get events and return decisions.
//
// The transport reports what happens to a flow as [Event]s to a [Controller] and reads the flow's
// newest [Decision]: how much may be in flight, and how fast it may be sent. The Controller runs an
// [Algorithm] for each flow, one state transition per event. An Algorithm does not depend on
// whether it runs in line ([Inline]) or behind a device. The events are those of TAURUS (its Table
// 3) and three of ours: CNP, TIMER and POST.
//
// [Parse] reads the name and the parameters of an algorithm. [Spec.New] makes one for a flow, given
// the properties of its [Path] that it cannot measure, and returns an error on paths where it
// cannot work. [Help] explains every parameter. An algorithm shows its state as a [Snapshot].
//
// Receiver-driven control uses admission: a [Gate] at the sender and a [Granter] at the receiver of
// a flow.
//
//	[Swift]             delay, of the fabric and of the hosts separately
//	[TIMELY], [LEDBAT]  delay: its gradient; its distance from a target
//	[DCTCP], [D2TCP]    the share of marked packets; and deadlines
//	[IDCTCP]            the same by counts only
//	[DCQCN], [DCQCNNIC] CNPs, which the receiver's [CNPGate] triggers
//	[HPCC]              in-band telemetry
//	[Bolt]              reports of switches
//	[Fixed]             nothing
//
// To add an algorithm, write a file with its parameters (declare), its state, Events, Start, On and
// Snapshot, in the paper's names; add a line to registry.go; and test it with the paper's example.
//
// An Algorithm owns the state of its flow and nothing else; it does no I/O, reads no clock and
// allocates nothing. Times may step back and values may be impossible: it ignores and counts those,
// and stays within its bounds. The package imports only units.
package cc
