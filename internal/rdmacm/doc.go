// Package rdmacm connects queue pairs the way librdmacm does: with the messages of the InfiniBand
// communication manager (spec volume 1, chapter 12), sent as datagrams between the queue pairs 1 of
// two RoCEv2 hosts, and the IP addresses and port of the RDMA IP CM service (annex A11) in them.
//
// The formats are in mad.go and the files named after each message: [Parse] and [Append]. A
// [Machine] is everything one host needs: it listens, connects, repeats what is lost, answers
// again what comes twice, and waits until an ended connection's packets are out of the network.
// It knows nothing of queue pairs: [Conn.QPAttr] says what the program shall move its own to.
//
// The path of a datagram: Receive parses it and finds the connection by its IDs (receive.go), the
// answer and the event wait in two queues, Emit and Event take them out. Time comes in as an
// argument; Poll does what is due (expire.go) and says when to come again. A connection goes
//
//	active:  Connect → REQ …… REP → ConnectResponse → QPAttr, Confirm → RTU
//	passive: REQ → ConnectRequest → QPAttr, Accept → REP …… RTU → Established
//	both:    Disconnect → DREQ …… DREP → Disconnected → TimewaitExit
//
// Everything belongs to the core that polls. The package owns no goroutine, takes no lock and reads
// no clock; it imports units, secret, transport/wire and the standard library without net, os and
// time.
package rdmacm
