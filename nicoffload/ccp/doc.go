// Package ccp implements CCP (Narayan et al., SIGCOMM 2018; libccp and Portus) within nicoffload:
// the baseline that TAURUS is compared with. No NIC collects signals. The polling core runs a
// program of the agent on every acknowledgement ([Machine]), folds values into registers and sends
// reports; the agent converts them into events for an unchanged algorithm of cc, and sends updates
// of window and rate.
//
// [Compile] compiles CCP's programs; wire.go has its messages, byte for byte. [Controller] is a
// cc.Controller. It differs from CCP in the rings, which are nicoffload's (messages are padded to
// whole Slots), and in the algorithms, which are those of cc: the agent installs one of two
// programs, [PerAck] or [PerRTT]. Reports contain neither sequence numbers nor telemetry. The agent
// counts packets instead; algorithms that need telemetry or switch reports get none.
//
// A report without room in the ring is lost with all that it counted, as in CCP's kernel datapath,
// and this loss, which TAURUS measures, is counted.
//
// The package imports nicoffload, cc and units; it reads no clock and allocates nothing per packet.
package ccp
