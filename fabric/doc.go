// Package fabric simulates a network below packet.Port: hosts, links and switches as discrete
// events in virtual time, in integer picoseconds, from one seed. A host runs any [Poller]. Package
// sim runs the transport's endpoints, so that a simulation executes the same code as a real
// NIC.
//
// # The path of a frame
//
// A poller builds a frame in a buffer of its host's [NIC] and sends it into the queue of a class.
// The NIC serialises frames at the rate of its link in strict priority of the classes, obeys
// pauses, and by default queues one frame beyond the one on the wire. After serialisation and
// propagation the frame arrives at the other end as a whole. A [Switch] selects the output port by
// destination and, among paths of equal cost, by the hash of the flow. It allocates space in its
// shared buffer (reserve, shared, headroom), and pauses the sender of a lossless queue that crosses
// its threshold. It queues the frame by DSCP; marks, trims or drops it as configured for that
// queue; and serialises it again. The receiving NIC moves the frame to the host's memory (PCIe,
// receive delay) and wakes the poller, and Recv returns the same buffer. The frame is never copied.
//
// # Hosts
//
// By default a host is infinitely fast and its poller checks the port continuously. A [HostConfig]
// makes it more realistic: sleep of an idle poller ([Naps]), [Preemption], a core shared with
// others ([Share]), interrupt coalescing ([Coalesce]), missing or noisy timestamps, PCIe and
// processor time. [Parts] has one configuration for all hosts, and HostOf for exceptions. A poller
// that implements [Idler] is informed of the time that it was idle.
//
// # Ownership
//
// A [Network] owns all state and is used by one goroutine. It takes no lock, reads no clock and
// starts no goroutine. Concurrent simulations use separate networks. All random numbers derive from
// the network's seed, and events of one instant run in the order in which they were scheduled.
// [Network.Digest] summarises a run: equal seeds give equal digests on every machine.
//
// The network accounts for every frame. [Network.Run] returns an error if a frame is missing or a
// buffer's account is wrong. With the build tag "debug" it checks after every event.
//
// The package may import packet, units and transport/wire (the formats its switches read and
// write), never transport.
package fabric
