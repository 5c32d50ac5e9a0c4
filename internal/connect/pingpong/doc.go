// Package pingpong implements the handshake of libibverbs' examples: the messages that
// ibv_rc_pingpong and ibv_uc_pingpong exchange over TCP before the RDMA traffic, as client
// ([Connect]) and as server ([Accept]).
//
// A connection to the server's port 18515 carries three messages:
//
//	client → server   its Destination, 52 bytes
//	server → client   the server's Destination; its queue pair can receive from now on
//	client → server   "done" and a zero byte
//
// Sizes, the number of messages, the path MTU and the service are never sent: the operator has to
// give both sides the same options. libibverbs then closes the connection. It reads each message
// with a single read, so each must be a single write.
//
// Encoding is pure; only Connect and Accept use a connection. rdma-core 44 of Debian 12 has
// this protocol. Of this module the package imports only internal/connect/lockstep.
package pingpong
