// Package differ sends the same packets, good and bad, to Linux's soft-RoCE and to goroce, and
// compares what the two responders do.
//
// A Case (case.go) is a queue pair and a sequence of packets, drawn from a seed (generate.go):
// mostly what an honest requester would send next, now and then with something wrong (mutate.go). A
// Packet names regions, not addresses and keys, so that it can be made a frame for either responder
// (frame.go). Ours is an endpoint on a port in memory, in virtual time (ours.go); theirs is a queue
// pair of the kernel's in a guest, made by guest/responder.c and reached through a packet socket
// (theirs.go). Run (compare.go) sends one packet at a time, takes all answers to it, and in the end
// looks at states, completions and memory. What may differ stands in a table with reasons
// (known.go). A case that fails is made smaller (shrink.go).
//
// It imports transport and below, and shaper for the packet socket.
package differ
