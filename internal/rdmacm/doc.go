// Package rdmacm connects queue pairs like librdmacm: with the messages of the InfiniBand
// communication manager (spec volume 1, chapter 12), sent as datagrams between the queue pairs 1 of
// two RoCEv2 hosts, with the IP addresses and port of the RDMA IP CM service (annex A11).
//
// The formats are in mad.go and the files named after each message: [Parse] and [Append]. A
// [Machine] is the communication manager of one host: it listens, connects, retransmits, replies
// to duplicates, and keeps ended connections in timewait. It does not access queue pairs:
// [Conn.QPAttr] returns the attributes to which the program modifies its own.
//
// The path of a datagram: Receive parses it and finds the connection by its IDs (receive.go).
// Replies and events wait in two queues, which Emit and Event drain. Time is an argument; Poll
// handles what is due (expire.go) and returns the time of its next call. The life of a connection:
//
//	active:  Connect → REQ …… REP → ConnectResponse → QPAttr, Confirm → RTU
//	passive: REQ → ConnectRequest → QPAttr, Accept → REP …… RTU → Established
//	both:    Disconnect → DREQ …… DREP → Disconnected → TimewaitExit
//
// For datagrams there is only a lookup of the peer's queue pair (sidr.go):
//
//	Lookup → SIDR_REQ …… LookupRequest → Answer → SIDR_REP …… LookupResponse
//
// A Machine belongs to the polling core. The package starts no goroutine, takes no lock and reads
// no clock. It imports units, secret, transport/wire and the standard library without net, os and
// time.
package rdmacm
