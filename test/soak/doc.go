// Command soak proves that the transport loses nothing. From a seed it makes a network, endpoints,
// connections, traffic and faults, runs them in virtual time, and compares everything that the
// verbs answer, and every byte of memory, with what must be there. A seed that fails is replayed by
// its number. docs/soak.md says what a seed does and what must hold.
//
// What a seed means is drawn before anything happens: a plan (plan.go) of a kind (kind.go): a
// topology, its switches and hosts, faults, and sessions with their messages (traffic.go). A world
// (world.go) is a plan at work: a node for each host (node.go), and sessions (session.go) of two
// sides (side.go). A side posts the messages of its script (message.go, post.go), and has an inbox
// for those of its peer (inbox.go). What comes back is judged at once (complete.go, arrive.go,
// atomics.go), by god's hand: a side sees the memory and the progress of its peer. At the end the
// world is audited (audit.go).
//
// Memory rests on one value. A message fills its source as it is posted; when it is done, source
// and destination are verified and put to rest again. So whatever is written too late, twice, or
// outside its place is found when all memory is looked through at the end (arena.go).
//
// The package may import everything of ours below bench.
package main
