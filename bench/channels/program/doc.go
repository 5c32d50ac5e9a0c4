// Package program is the program roce_channels, which measures the parameters of PrioPlus for the
// path to a peer over a DPDK port: the base round-trip time, the noise of its delays, and from
// these the table of channels (section 4.3.2 of the paper). See --help.
//
// It runs the congestion control of bench/channels in the session of a bandwidth test
// (bench/perftest).
package program
