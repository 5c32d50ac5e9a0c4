// Package wireshark has only tests. They dissect the frames of goroce's endpoints with tshark and
// compare the result with that of transport/wire: an independent check of every header.
//
// Frames come from two endpoints on a packet.Pipe in virtual time, through packet/pcap. The tests
// are here because transport/wire must not import transport.
//
// They also run Wireshark's dissector for our extension, scripts/wireshark/goroce.lua.
package wireshark
