// Package pcap records what crosses a [packet.Port] in a file that Wireshark and tcpdump read:
// classic pcap with nanosecond times, link type Ethernet (draft-ietf-opsawg-pcap).
//
// A [File] wraps any number of ports and interleaves their frames in the order of the calls. Frames
// that are sent are recorded as they were handed over and only when the port took them: what the
// port fills in itself, such as a checksum, is not there yet. Each burst is one write to the file,
// nothing is kept back, so that a file is whole whenever the program ends.
//
// It is a tool: it copies what it records, and a File takes a lock so that ports of several polling
// cores may share it. The package imports packet and units.
package pcap
