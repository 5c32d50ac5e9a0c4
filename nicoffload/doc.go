// Package nicoffload is TAURUS's split of congestion control between NIC and host (PACMNET CoNEXT,
// December 2025): the NIC collects signals, merges them and reports messages; an agent on the host
// decides; the NIC keeps the results.
//
//	polling core                          │ agent's core
//	transport → Controller → Datapath     │
//	             NIC: engines → queue ── messages ──→ Device → Agent → cc.Algorithm
//	             NIC: result  ←───────── commands ──────────── filters ←
//
// A [Device] is the boundary as the host sees it, small enough for a driver of a real NIC;
// docs/nicoffload.md has the memory layout of what crosses. [NIC] is the soft NIC, which implements
// it and [Datapath], the side of the packet pipeline; [Link] puts a core or a process between the
// two. [Agent] runs the algorithms of cc, unchanged, on what a Device reports. [Controller] is all
// of that in the place of cc.Inline; while an agent is silent for too long it decides by itself.
// nicoffload/devicetest is what every driver has to pass.
//
// Nothing here owns a goroutine, takes a lock, reads a clock or allocates per signal. A ring has
// one producer and one consumer, and atomic positions. The package imports cc, pace, transport/wire
// and units.
package nicoffload
