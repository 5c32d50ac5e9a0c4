// Package hostmodel models a host behind its NIC: a last-level cache that the NIC writes to (DDIO),
// receive buffers, a program that reads them, and a shared memory controller (CARC, APNet '25,
// section 3; hostCC, SIGCOMM '23).
//
// A frame crosses PCIe and the I/O controller, which holds a limited number of lines at once
// ([Host]). Its payload is written line by line into a receive buffer of a [Queue] in the [Cache];
// evicted lines go to [Memory]. The program reads the buffer, which costs more for each line that
// is no longer in the cache ([Costs]), and releases it. Data that were written and not yet released
// are unconsumed; their amount determines the congestion [State] of the host.
//
// A [Host] implements fabric.Memory. The NIC of a fabric host then writes no faster than the memory
// accepts, so that frames wait in the NIC and it pauses its link. Host provides the signals of
// hostCC as samplers for nicoffload, and its throttle as an actuator. The cache and the queues also
// work without a fabric, for models of messages.
//
// A Host and everything in it is used by one goroutine. It reads no clock and allocates nothing per
// line or message. The package imports fabric and units.
package hostmodel
