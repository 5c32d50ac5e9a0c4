// Package telemetry is where a tuner's measurements come from (section 5.4): what each tool tells
// of a port, how often, what that costs, and what remains of it after aggregation.
//
// Out-of-band tools (SNMP, ONT) poll counters and the queue's length. In-band ones (INT, sFlow)
// report packets that pass, with the queue that they found; throughput is inferred from how many
// reports there are (equation 16). A [Collector] is told of packets, or polled, and answers
// throughput and queue of a period.
//
// The package imports bytetuning and units. It reads no clock and opens no connection;
// bytetuning/live reads real switches.
package telemetry
