// Command soak tests the transport in random simulations. A seed determines a network, endpoints,
// connections, traffic and faults. They run in virtual time, and every completion, every event and
// every byte of memory is compared with what it must be. A failing seed is replayed by its number.
// docs/soak.md describes what a seed draws and which invariants are checked.
//
// A plan (plan.go) is drawn from the seed before anything runs. It has a kind (kind.go), a
// topology, switches, hosts, faults, and sessions with their messages (traffic.go). A simulation
// (simulation.go) executes a plan, with a node for each host (node.go) and sessions (session.go) of
// two peer ends (peerend.go). A peer end posts the messages of its script (message.go, post.go) and
// has a receive queue for those of its peer (recvqueue.go). Completions are checked at once
// (complete.go, arrive.go, atomics.go); the checks of one end read the memory and the progress of
// the other. At the end the whole simulation is audited (audit.go).
//
// Memory that no message uses holds one byte value. A message fills its source when it is posted;
// when it is done, source and destination are verified and reset to that value. The final scan of
// all memory therefore finds every byte that was written too late, twice, or in the wrong place
// (arena.go).
//
// The package may import every package of this module below bench.
package main
