// Package connect is the out-of-band handshake of two endpoints: over TCP they exchange addresses,
// queue pair numbers, start PSNs and memory keys, and synchronise at barriers.
//
// The encoding of a message ([Hello.Encode], [Decode]) is pure. Only [Exchange], its halves [Send]
// and [Receive], [Barrier] and [Dial] use a connection. The package is the only one of the core
// that imports net; of this module it imports only transport/wire, for the offer of the extension.
// It has no state.
package connect
