// Package fabric is the simulated world under packet.Port: hosts, links and switches as discrete
// events in virtual time, in integer picoseconds, from one seed. What polls on its hosts is any
// [Poller]; sim puts the transport's endpoints there, so that the code on a real NIC and
// the code in a simulation are one.
//
// # The path of a frame
//
// A poller builds it in a buffer of its host's [NIC] and sends it into the queue of a class. The
// NIC serialises at the rate of its link, one class before the other, obeys pauses, and takes by
// default one frame beyond the one on the wire. After serialisation and propagation the frame is
// whole at the other end. A [Switch] finds the next port by the destination and, among equals, by
// the hash of the flow; asks its shared buffer for room (reserve, shared, headroom; what crosses
// the threshold of a lossless queue makes it pause the sender); queues it by its DSCP; marks,
// trims or drops it as that queue is told to; and serialises it again. The receiving NIC moves it
// to the host's memory (PCIe, receive delay), wakes the poller, and Recv hands the very same
// buffer over. Nothing is copied on the way.
//
// # Hosts
//
// By default a host is infinitely fast, and its poller looks at the port all the time. A
// [HostConfig] makes it a real one: [Naps] of an idle poller, [Preemption], a core in turns with
// others ([Share]), interrupts in batches ([Coalesce]), no time stamps, noise, PCIe and processor.
// [Parts] has one configuration for all hosts, and HostOf for what is different at some. An [Idler]
// is told until when it would have looked in vain.
//
// # Who owns what
//
// A [Network] owns all state and is used by one goroutine: nothing in it takes a lock, reads a
// clock or starts a goroutine. Simulations run side by side in networks of their own. Everything
// that is random is drawn from the network's seed; everything that happens at one instant happens
// in the order in which it was asked for. [Network.Digest] sums up a run: the same seed, the same
// digest, on every machine.
//
// The network keeps books of every frame. [Network.Run] ends with an error when a frame is missing,
// or a buffer is accounted wrongly; with the build tag "debug" it looks after every event.
//
// The package may import packet, units and transport/wire (the formats its switches read and
// write), never transport.
package fabric
