// Package hostmodel is what happens to data behind a NIC: a last-level cache into which the NIC
// writes (DDIO), receive buffers, a program that reads them, and a memory controller that others
// use too (CARC, APNet '25, section 3; hostCC, SIGCOMM '23).
//
// A frame crosses PCIe and the I/O controller, which holds so many lines at once ([Host]). Its
// payload is written into a receive buffer of a [Queue], line by line, into the [Cache]; lines that
// it throws out go to [Memory]. The program reads the buffer, which costs more for each line that
// is no longer in the cache ([Costs]), and gives it back. What was written and is not yet given
// back is unconsumed: the congestion of the host has a [State] by how much that is.
//
// A [Host] is a fabric.Memory: a host of the fabric whose NIC writes no faster than its memory
// takes, so that frames wait in the NIC and it pauses its link. It has the signals of hostCC, in
// the form of nicoffload's samplers, and its throttle, as an actuator. Without a fabric the cache
// and the queues work alone, for models of messages.
//
// All of it belongs to who calls it, reads no clock and allocates nothing per line or message. The
// package imports fabric and units.
package hostmodel
