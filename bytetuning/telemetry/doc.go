// Package telemetry models the sources of a tuner's measurements (section 5.4): what each tool
// reports about a port, how often, at what cost, and how its samples are aggregated.
//
// Out-of-band tools (SNMP, ONT) poll byte counters and queue lengths. In-band tools (INT, sFlow)
// report passing packets with the queue length at their arrival; throughput is inferred from the
// number of reports (equation 16). A [Collector] takes packets or polls and returns the throughput
// and queue of a period.
//
// The package imports bytetuning and units. It reads no clock and opens no connection;
// bytetuning/live reads real switches.
package telemetry
