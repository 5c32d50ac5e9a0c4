// Package packet is the seam between the protocol and the worlds it runs in: a [Buf] is one frame,
// a [Port] moves bursts of them.
//
// The path of a frame: the transport allocates Bufs from its Port, writes frames into them and
// hands them back with Send; what Recv answers it reads in place and gives back with Free. A frame
// is never copied on the way, and it never belongs to two owners: after Send the accepted Bufs are
// the port's, the others still the caller's.
//
// Package dpdk implements Port over real and virtual devices, package fabric over a simulated
// network, [Pipe] over memory for tests. Decorators wrap any of them: they record, count or
// spoil what passes.
//
// A Port belongs to one goroutine at a time and takes no lock. The package imports only units.
package packet
