// Package wire reads and writes RoCEv2 frames. It has no notion of connections.
//
// To read a frame, call [Packet.Parse], which checks lengths and headers once and stores the
// offsets, and [Packet.ICRC], which verifies the invariant CRC. The headers ([Packet.BTH],
// [Packet.RETH], [Packet.AETH] …) are pointers into the frame: structs of bytes whose fields
// stand in wire order, such as [BTH] and [RETH]. [Packet.Payload] is a slice of the frame.
//
// To write a frame, fill a [Template] with the headers of a flow. [Template.Build] writes them to
// the frame's memory. The caller writes the extended headers, through [View], and the payload;
// [Template.Seal] zeroes the pad and writes the ICRC.
//
// The package owns no memory, does not allocate and does not copy payload. A Packet and a Template
// have no lock: each belongs to one goroutine. Malformed input is an error, never a panic. A call
// for a header that the opcode does not have may panic.
//
// The package implements chapter 5 (packet format), 9.2–9.7 (transport headers, opcodes,
// syndromes and timers) of the InfiniBand Architecture Specification, volume 1, release 1.4 —
// cited as "IB" — and its annex A17 (RoCEv2) — cited as "A17"; and goroce's own extension
// (extension.go, docs/wire.md). Package gopacketroce, below, has the headers as gopacket layers.
package wire
