// Package wireshark has no code but its tests: they let tshark, Wireshark without its window, read
// what goroce's endpoints send, and compare what it finds with what transport/wire does. That is a
// second opinion, by people who never saw our code, about every header that we write.
//
// Frames come from two endpoints on a packet.Pipe in virtual time, through packet/pcap. The tests
// stand here, above everything they use: transport/wire must not import transport.
//
// They also run Wireshark's dissector for our extension, scripts/wireshark/goroce.lua.
package wireshark
