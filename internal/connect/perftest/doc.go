// Package perftest speaks the handshake of linux-rdma's perftest: what ib_write_bw and its kin tell
// each other over TCP beside the RDMA traffic, as client and as server, so that a program of ours
// can run against one of theirs.
//
// The connection is IPv4, on the server's port 18515, also where the GIDs are IPv6. Messages have
// fixed sizes and no types: 16, 4, 4 and 2 bytes of a [Hello], 108 of a [Destination], five times 8
// of a [Report], 5 that say done. The client sends one and the server answers with its own of the
// same kind; there is no other order. Which message is due, both sides know from the test alone
// ([Test]): sizes, iterations and the verb are never sent, the operator gives both sides the same
// options. A side that is out of step shows by a message of another size, or by a queue pair that
// is not the expected one, and gets an error that says so.
//
// With -R ([Test].CM) the same messages are SENDs of a queue pair that the RDMA CM connected, one
// each; keys have another form then, 56 bytes, there are two barriers more, and nobody says done.
//
// Encoding is pure; only a [Session] touches a connection. The facts are those of perftest 4.5 of
// Debian 12, which calls itself 6.06; newer ones adapt to that. Not spoken are the exchange over
// rdma_cm alone (-z), raw Ethernet, XRC and DC, --report-per-port, and peers without a GID.
//
// Of ours the package imports only units.
package perftest
