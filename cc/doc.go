// Package cc is where the transport meets congestion control: signals in, decisions out.
//
// The transport reports what happens to a flow as [Event]s to a [Controller] and asks it for the
// flow's newest [Decision]: how much may be in flight, and how fast it may leave. Behind the
// Controller stands an [Algorithm] for each flow, one state transition per event, which cannot
// tell whether it runs in line ([Inline]) or behind a device. The vocabulary of events is that of
// TAURUS (its Table 3), with two of ours: CNP and TIMER.
//
// An Algorithm owns the state of its flow and nothing else; it does no I/O, reads no clock and
// allocates nothing. One algorithm, one file. The package imports only units.
package cc
