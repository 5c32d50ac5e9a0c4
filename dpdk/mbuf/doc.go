// Package mbuf moves bursts of DPDK's packet buffers between Go and C: a [Burst] is the array that
// both sides see, [Alloc] and [Free] are one C call for all of it.
//
// Everything in a Burst is an integer, including addresses: mbufs live outside Go's heap and never
// move, and cgo would scan an array of pointers at every call. Package dpdk turns an address into a
// slice where it makes a packet.Buf of it.
//
// A Burst belongs to one queue and so to one goroutine. The package imports only package mempool.
package mbuf
