// Package nicoffload implements TAURUS's split of congestion control between NIC and host (PACMNET
// CoNEXT, December 2025). The NIC collects signals, merges them and reports messages; an agent on
// the host decides; the NIC keeps the results.
//
//	polling core                          │ agent's core
//	transport → Controller → Datapath     │
//	             NIC: engines → queue ─ messages ─→ Device → Agent → cc.Algorithm
//	             NIC: result ←─────── commands ──────── filters ←
//
// A [Device] is the boundary as the host sees it, small enough for a driver of a real NIC;
// docs/nicoffload.md specifies the memory layout of messages and commands. [NIC] is the soft NIC.
// It implements Device and [Datapath], the interface of the packet pipeline. [Link] connects the
// two across cores or processes. [Agent] runs the algorithms of cc, unchanged, on the messages of a
// Device. [Controller] combines all of these and replaces cc.Inline; while the agent is silent for
// too long, it runs a fallback algorithm itself. Every driver has to pass nicoffload/devicetest.
//
// The package owns no goroutine, takes no lock, reads no clock and allocates nothing per signal. A
// ring has one producer and one consumer, and atomic positions. The package imports cc,
// internal/pace, transport/wire and units.
package nicoffload
