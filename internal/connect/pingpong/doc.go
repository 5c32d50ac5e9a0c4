// Package pingpong speaks the handshake of libibverbs' examples: what ibv_rc_pingpong and
// ibv_uc_pingpong tell each other over TCP before the RDMA traffic, as client ([Connect]) and as
// server ([Accept]).
//
// There are three messages on a connection to the server's port 18515:
//
//	client → server   its Destination, 52 bytes
//	server → client   the server's, whose queue pair takes the client's packets from here on
//	client → server   "done" and a zero byte
//
// Sizes, the number of messages, the path MTU and the service are never sent: the operator gives
// both sides the same options. libibverbs closes the connection at this point, and reads each
// message with a single read, so that each must be a single write.
//
// Encoding is pure; only Connect and Accept touch a connection. The facts are those of rdma-core 44
// of Debian 12. Of ours the package imports nothing.
package pingpong
