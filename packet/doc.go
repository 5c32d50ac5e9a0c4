// Package packet is the interface between the protocol and what carries its frames. A [Buf] is one
// frame; a [Port] sends and receives bursts of them.
//
// The transport allocates Bufs from its Port, writes frames into them and passes them to Send. It
// reads the frames that Recv returns in place and returns them with Free. Frames are not copied,
// and each has one owner at a time: after Send the port owns the accepted Bufs and the caller still
// owns the others.
//
// Package dpdk implements Port over real and virtual devices, package fabric over a simulated
// network, and [Pipe] over memory for tests. Decorators wrap any Port: [Counters] counts frames,
// [Faults] injects faults, and package pcap records frames.
//
// A Port belongs to one goroutine at a time and takes no lock. The package imports only units.
package packet
