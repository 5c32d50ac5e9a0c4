// Package goroce opens RDMA hosts: RoCEv2 endpoints on DPDK ports, polled by cores of their own.
//
// [Open] takes a port URL (loop:, memif:/run/x.sock, af_packet:eth0, pci:0000:3b:00.0, …) and
// returns a [Host]: the port, a clock, an idle policy, and one locked goroutine for each endpoint
// and port queue.
//
//   - From any goroutine, use a [Conn]: [Host.Dial], [Host.Listen] or, with programs of librdmacm,
//     [Host.DialConnCM] and [CMRequest.AcceptConn]. It has messages ([Conn.Send], [Conn.Recv]),
//     one-sided operations on registered memory ([Conn.Register], [Conn.Write], [Conn.Read],
//     [Conn.FetchAdd], [Conn.CompareSwap]), and many of them in flight ([Conn.Post]).
//   - For streams of bytes, use [Host.DialStream] and [Host.ListenStream], which return a net.Conn
//     and a net.Listener.
//   - For verbs, run code on the polling core: once with [Host.Do], or in every round with
//     [Host.Run]. [Host.DialCM] and [Host.ListenCM] connect queue pairs of one's own.
//
// Other goroutines hand a polling core functions through a bounded mailbox, and operations through
// a lock-free queue. The outcome of an operation comes back by an atomic word, and by a channel if
// the caller waits.
//
// Imports: dpdk and transport, and the packages below them.
package goroce
