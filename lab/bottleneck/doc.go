// Package bottleneck runs flows from some hosts to one: what experiments on congestion control have
// in common. The hosts are on one switch, whose port to the receiver is the bottleneck; queues,
// goodput, completion times and traces come back.
//
// The package imports sim/cluster and what is below it.
package bottleneck
