// Package bottleneck makes the link between two ports of a process a bottleneck, with a rate and
// ECN marks, so that congestion control has something to control where there is no network: on
// loop: ports.
//
// A [Link] is one direction. A [Port] decorates a port: it counts what it sends into its outgoing
// link, and delays and marks what it receives from the incoming one. The queue of a link is what
// has been sent and not yet received. A frame that arrives at a queue of Kmin or more is marked CE
// with a probability that rises linearly from 0 to 1 at Kmax, as RED does in a switch.
//
// The package imports packet and units.
package bottleneck
