// Package ccp is CCP (Narayan et al., SIGCOMM 2018; libccp and Portus) in the frame of nicoffload:
// the baseline that TAURUS is compared with. No NIC collects anything. The polling core runs a
// program of the agent's on every acknowledgement ([Machine]), folds what it hears into registers
// and sends reports; the agent makes events of them, lets an algorithm of cc decide, unchanged, and
// answers with updates of window and rate.
//
// [Compile] reads CCP's programs; wire.go has its messages, byte for byte. [Controller] is a
// cc.Controller. What differs from CCP: the rings are nicoffload's (a message is padded to whole
// Slots), and an algorithm is one of cc's, so the agent's program is one of two, [PerAck] or
// [PerRTT]. A report knows neither sequence numbers nor telemetry: the agent counts packets
// instead, and algorithms that need telemetry or switches' reports hear none.
//
// A report that the ring has no room for is lost with all that it counted, as in CCP's kernel
// datapath: that is what TAURUS measures. It is counted.
//
// The package imports nicoffload, cc and units; it reads no clock and allocates nothing per packet.
package ccp
