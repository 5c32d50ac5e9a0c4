// Package verbs has no code of its own: below it are a drop-in libibverbs.so.1 for unmodified
// programs, and what stands behind it (docs/verbs-programs.md).
//
//	libibverbs  the C library with rdma-core's ABI
//	librdmacm   likewise, on libibverbs: connections by the RDMA CM
//	protocol    what the library and the engine exchange
//	engine      executes it on a goroce.Host
//	libgoroce   the engine as a C library, which libibverbs loads into the program
//	settings    the environment of a program
//	roce_run    runs a program with it
//	daemon      the engine for other processes, over a Unix socket
//	roced       the daemon as a program
//
// The path of an ibv_post_send: the library writes the request into a ring of its queue pair, and
// the ring's tail into the session's array of tails. The polling core, in its next round, sees that
// the tail has moved, and posts the request to the transport. The completion goes the other way,
// into the ring of the completion queue, where ibv_poll_cq finds it. Neither call enters the Go
// runtime or the kernel.
package verbs
