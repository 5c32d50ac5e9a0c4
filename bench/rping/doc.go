// Package rping is the program roce_rping, librdmacm's rping over a DPDK port: the client
// advertises a text, the server READs it and WRITEs it back, over a connection of the RDMA
// connection manager. Either end may be the original rping. See --help.
//
// settings.go parses the command line, text.go has the messages, end.go a queue pair with its
// buffers, client.go and server.go the two roles. The package imports goroce and transport.
package rping
