// Package capture fills a report of package analysis with the RoCEv2 packets of a pcap or pcapng
// file, of any RoCEv2 stack.
//
// A packet (frame.go) has the queue pair number of its receiver alone, so a flow is named after the
// receiver of its requests, and the queue pair to which its acknowledgements go is inferred from
// their PSNs (pair.go). A flow's tracker (tracker.go) keeps what is outstanding, and attributes the
// time between two packets of the sender to what preceded the second one (limit.go). Packets that a
// short snapshot length cut off count, as long as their headers are there.
package capture
