// Package pingpong is the program roce_rc_pingpong, which exchanges SENDs with libibverbs'
// ibv_rc_pingpong, or with itself, over a DPDK port: see --help.
//
// It has ibv_rc_pingpong's flags, handshake (internal/connect/pingpong), traffic and output. A
// [session] is one end: it performs the handshake over TCP and connects the queue pair. Then a
// [bounce] runs on the polling core until all messages are exchanged.
package pingpong
