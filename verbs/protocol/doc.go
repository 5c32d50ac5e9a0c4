// Package protocol is what programs with our libibverbs.so.1 and the engine exchange: requests and
// replies over a socket, and the layout of rings in shared memory. It mirrors the C header
// verbs/libibverbs/protocol.h, whose layouts its test compares; the header has the comments on
// fields.
//
// A request comes from a process that may be hostile: Decode checks its length and nothing more;
// the engine checks its fields. Values in shared memory may change at any time.
package protocol
