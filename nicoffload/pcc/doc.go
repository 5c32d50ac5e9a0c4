// Package pcc models NVIDIA's programmable congestion control (DOCA PCC, BlueField-3) within
// nicoffload: the baseline that decides on the NIC and has no information about the host. Rules and
// numbers are those of its public documentation and of the public part of its RTT template.
//
// [Template] implements it as an algorithm of cc. [Controller] runs any algorithm of cc as such
// a NIC would: without RTO and HOST events, with rates in steps of 2^-20 of the line rate, and with
// a delay from an event to the decision. Not modelled are the doubling of cuts above a port
// utilisation of 85 %, which needs the port's counters, and the slots, parameters and counters of
// the host's tool.
//
// The package imports cc and units. It reads no clock and allocates nothing per packet.
package pcc
