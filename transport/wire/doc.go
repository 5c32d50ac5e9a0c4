// Package wire is RoCEv2 on the wire: what every bit of a frame is called, how a frame is read,
// and how one is written. It knows nothing of connections.
//
// The path of a received frame: [Packet.Parse] checks lengths and headers once and notes the
// offsets; [Packet.ICRC] verifies the invariant CRC; the views ([Packet.BTH], [Packet.RETH],
// [Packet.AETH] …) and [Packet.Payload] are slices of the frame itself. The path of a sent one:
// a [Template] holds the headers of a flow; [Template.Build] lays them into the frame's memory;
// the caller fills the extended headers through the same views and the payload;
// [Template.Seal] zeroes the pad and writes the ICRC.
//
// Nothing here owns memory, allocates, or copies payload, and nothing is shared: a Packet and a
// Template belong to whoever holds them. Malformed input is an error, never a panic; the views
// of headers that the opcode does not have are the caller's mistake and may panic.
//
// The package implements chapter 5 (packet format), 9.2–9.7 (transport headers, opcodes,
// syndromes and timers) of the InfiniBand Architecture Specification, volume 1, release 1.4 —
// cited as "IB" — and its annex A17 (RoCEv2) — cited as "A17"; and goroce's own extension
// (extension.go, docs/wire.md). It imports units and the standard library. Package gopacketroce,
// below, shows the same views as gopacket layers.
package wire
