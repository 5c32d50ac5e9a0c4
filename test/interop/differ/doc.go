// Package differ sends the same valid and invalid packets to Linux's soft-RoCE and to goroce, and
// compares the two responders.
//
// A Case (case.go) is a queue pair and a sequence of packets, drawn from a seed (generate.go):
// mostly the packets of a correct requester, some of them mutated (mutate.go). A Packet names
// regions, not addresses and keys, so that it can be encoded for either responder (frame.go). Ours
// is an endpoint on a port in memory, in virtual time (ours.go); theirs is a queue pair of the
// kernel's in a guest, made by guest/responder.c and reached through a packet socket (theirs.go).
// Run (compare.go) sends one packet at a time, takes all responses to it, and in the end compares
// states, completions and memory. Known differences are in a table with reasons (known.go). A
// failing case is shrunk (shrink.go).
//
// It imports transport and below, and shaper for the packet socket.
package differ
