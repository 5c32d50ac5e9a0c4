// Package goroce opens RDMA hosts: RoCEv2 endpoints on DPDK ports, polled by cores of their own.
//
// [Open] takes a port URL (loop:, memif:/run/x.sock, af_packet:eth0, pci:0000:3b:00.0, …) and
// returns a [Host]: the port, a clock, an idle policy, and one locked goroutine for each endpoint
// and port queue.
//
//   - For messages, use [Host.Dial], [Host.Listen], [Conn.Send] and [Conn.Recv] from any goroutine.
//   - For connections with programs of librdmacm, pass queue pairs to [Host.DialCM] and
//     [Host.ListenCM].
//   - For verbs, run code on the polling core: once with [Host.Do], or in every round with
//     [Host.Run].
//
// Other goroutines and a polling core synchronise through one bounded mailbox for each core, and
// nothing else.
//
// Imports: dpdk and transport, and the packages below them.
package goroce
