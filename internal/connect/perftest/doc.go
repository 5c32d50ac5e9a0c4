// Package perftest implements the handshake of linux-rdma's perftest: the messages that ib_write_bw
// and its siblings exchange over TCP beside the RDMA traffic, as client and as server. With it our
// programs run against perftest's.
//
// The connection is IPv4, on the server's port 18515, even if the GIDs are IPv6. Messages have
// fixed sizes and no type field: 16, 4, 4 and 2 bytes of a [Hello], 108 of a [Destination], five
// times 8 of a [Report], 5 of "done". The client sends a message and the server replies with its
// own of the same kind; there is no other order. Both sides derive the next message from the [Test]
// alone: sizes, iterations and the verb are never sent, so the operator has to give both sides the
// same options. A mismatch shows as a message of another size, or as an unexpected queue pair, and
// is an error.
//
// With -R ([Test].CM) each message is a SEND of a queue pair that the RDMA CM connected. Keys then
// have another form of 56 bytes, there are two more barriers, and there is no "done".
//
// Encoding is pure; only a [Session] uses a connection. perftest 4.5 of Debian 12 has this
// protocol, in version 6.06; newer versions adapt to it. Not supported are the exchange over
// rdma_cm alone (-z), raw Ethernet, XRC and DC, --report-per-port, and peers without a GID.
//
// Of this module the package imports internal/connect/lockstep and units.
package perftest
