// Package connect tells two endpoints of each other, out of band: over TCP they exchange addresses,
// queue pair numbers, start PSNs and memory keys, and meet again at barriers.
//
// The encoding of a message ([Hello.Encode], [Decode]) is pure; only [Exchange] with its halves
// [Send] and [Receive], [Barrier] and [Dial] touch a connection. It is the one package of the core
// that imports net, and of ours only transport/wire, for the offer of the extension. Nothing here
// has state of its own.
package connect
