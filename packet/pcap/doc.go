// Package pcap records the frames of a [packet.Port] in a file that Wireshark and tcpdump read:
// classic pcap with nanosecond timestamps and link type Ethernet (draft-ietf-opsawg-pcap).
//
// A [File] wraps any number of ports and interleaves their frames in the order of the calls. A sent
// frame is recorded only if the port accepted it, and as the caller passed it, without fields that
// the port fills in itself, such as a checksum. Each burst is one unbuffered write, so the file is
// complete whenever the program ends.
//
// Recording is for debugging: it copies every frame, and a File takes a lock so that ports of
// several polling cores can share it. The package imports packet and units.
package pcap
