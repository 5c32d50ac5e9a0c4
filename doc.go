// Package goroce opens RDMA hosts: RoCEv2 endpoints on DPDK ports, polled by cores of their own.
//
// [Open] takes a port URL (loop:, memif:/run/x.sock, af_packet:eth0, pci:0000:3b:00.0, …) and gives
// a [Host]: the port, a clock, an idle policy, and one locked goroutine for each endpoint and port
// queue. Whoever wants messages uses [Host.Dial], [Host.Listen], [Conn.Send] and [Conn.Recv] from
// any goroutine. Whoever wants to speak with programs of librdmacm gives queue pairs of its own to
// [Host.DialCM] and [Host.ListenCM]. Whoever wants verbs runs code on the polling core: once with
// [Host.Do], or in every round with [Host.Run]. Between the polling cores and everybody else there
// is one bounded mailbox a core, the only synchronisation there is.
//
// Imports: dpdk and transport with all that is below them.
package goroce
