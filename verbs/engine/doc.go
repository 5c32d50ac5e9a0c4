// Package engine serves programs with our libibverbs.so.1: it owns a Host, and executes what they
// ask over sockets and rings in shared memory (package protocol).
//
// A Session is one ibv_context. Its goroutine reads requests from the session's socket and executes
// each on the Host's polling core, to which all objects belong. The data path has no requests: the
// Engine is a goroce.Program, and Step looks at the tails of all queues in the session's memory,
// posts what it finds to the transport, and copies completions to the rings of the programs
// (drain.go, completions.go). The library rings no doorbell, unless the core sleeps.
//
// Where the memory of a region is depends on where the program is: Memory resolves its addresses.
// In the program's own process (package libgoroce) they are used as they are.
//
// Everything that comes from a program may be wrong or hostile: handles are looked up in the
// session's own tables, values in shared memory are read once and then checked, and a session's
// end destroys what it made.
package engine
