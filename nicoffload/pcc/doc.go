// Package pcc is NVIDIA's programmable congestion control (DOCA PCC, BlueField-3) in the frame of
// nicoffload: the baseline that decides on the NIC and knows nothing of the host. Rules and numbers
// are of its public documentation and of what is public of its RTT template.
//
// [Template] is that algorithm, one of cc's. [Controller] runs any algorithm of cc as such a NIC
// would: without RTO and HOST events, its rates in steps of 2^-20 of the line, each decision a
// while after the event. What is not here is the doubling of cuts above a port utilisation of 85 %,
// which needs the port's counters, and slots, parameters and counters of the host's tool.
//
// The package imports cc and units; it reads no clock and allocates nothing per packet.
package pcc
