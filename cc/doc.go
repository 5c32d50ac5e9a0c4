// Package cc is congestion control: signals in, decisions out, one algorithm a file.
//
// The transport reports what happens to a flow as [Event]s to a [Controller] and asks it for the
// flow's newest [Decision]: how much may be in flight, and how fast it may leave. Behind the
// Controller stands an [Algorithm] for each flow, one state transition per event, which cannot
// tell whether it runs in line ([Inline]) or behind a device. The vocabulary of events is that of
// TAURUS (its Table 3), with three of ours: CNP, TIMER and POST.
//
// [Parse] reads which algorithm, with which parameters; [Spec.New] makes one for a flow, told what
// it cannot measure of its [Path], and refuses what cannot work there. [Help] explains every
// parameter. An algorithm shows its state as a [Snapshot].
//
// Beside it is the seam of admission: a [Gate] at the sender and a [Granter] at the receiver of a
// flow, for control that the receiver drives.
//
//	[Swift]             delay, of fabric and hosts apart
//	[TIMELY], [LEDBAT]  delay: its gradient; its distance from a target
//	[DCTCP], [D2TCP]    the share of marked packets; and deadlines
//	[IDCTCP]            the same by counts alone
//	[DCQCN], [DCQCNNIC] CNPs, which the receiver's [CNPGate] allows
//	[HPCC]              in-band telemetry
//	[Bolt]              reports of switches
//	[Fixed]             nothing
//
// To add one: a file with its parameters (declare), its state, Events, Start, On and Snapshot, in
// the paper's names; a line in registry.go; the paper's example as a test.
//
// An Algorithm owns the state of its flow and nothing else; it does no I/O, reads no clock and
// allocates nothing. Times may step back and values may be absurd: then it ignores them, counts
// them and stays within its bounds. The package imports only units.
package cc
