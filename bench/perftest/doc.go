// Package perftest implements goroce's bandwidth and latency tests: programs with the flags,
// semantics and output of linux-rdma's perftest, over DPDK ports.
//
// A run is a [session] at each end. The two ends connect over TCP (or, with -d loop:, inside one
// process), exchange the settings that must match and the addresses of their queue pairs
// ([Settings], connect.Hello), bring the queue pairs up, and then step through the message sizes
// together: ready, measure, done, facts. The measuring code is a goroce.Program, called by the
// polling core in each of its rounds: a [sender] keeps the send queues full, a [receiver] the
// receive queues, a [pingpong] bounces one message. These objects belong to the polling core while
// they run, and to the session afterwards. They do not allocate, and they read the clock once a
// round (bandwidth) or once a round trip (latency).
//
// Flags are declared once, in [Settings.table]. Parsing, --help, validation, the header, test_info
// in the JSON document and the comparison with the peer's settings are derived from the
// declarations.
//
// With -R the ends connect through the RDMA connection manager: a [manager] makes the connections,
// a [control] carries the messages otherwise sent over TCP, and the dialogue is perftest's even
// between two goroce programs.
//
// An [Instrument] is a different program over the same session, whose congestion control takes the
// measurements.
//
// Differences from perftest: the JSON document has a row for each size, the standard deviation is
// computed in floating point, no sample is discarded, percentiles come from an HDR histogram in
// every mode, peak bandwidth needs no search, and -y is enforced without -w.
//
// The package imports goroce, transport, internal/rdmacm and connect. Each main package beside it
// is a single call.
package perftest
