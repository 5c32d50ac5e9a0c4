// Package perftest is the body of goroce's bandwidth and latency tests: programs with the flags,
// the meaning and the output of linux-rdma's perftest, over DPDK ports.
//
// A run is a [session] at each end. The two meet over TCP (or, with -d loop:, inside one process),
// trade what must be equal and what each must know of the other ([Settings], connect.Hello), bring
// their queue pairs up, and then walk through the message sizes together: ready, measure, done,
// facts. What measures is a goroce.Program, called by the polling core after each of its rounds: a
// [sender] keeps the send queues full, a [receiver] the receive queues, a [pingpong] bounces one
// message. They belong to the polling core while they run, and to the session afterwards; nothing
// in them allocates, and the clock is read once a round (bandwidth) or once a round trip (latency).
//
// With -R the two meet over the RDMA connection manager instead: a [manager] makes the connections,
// a [control] carries what TCP would have, and the dialogue is perftest's also between two of ours.
//
// An [Instrument] is a program of another kind over the same session: its congestion control
// measures.
//
// What perftest does and we do not: the JSON document has a row for each size, the standard
// deviation is computed in floating point, no sample is cut, percentiles come from an HDR histogram
// in every mode, peak bandwidth costs no search, and -y is enforced without -w.
//
// The package imports goroce, transport, internal/rdmacm and connect; the mains beside it are a
// line each.
package perftest
