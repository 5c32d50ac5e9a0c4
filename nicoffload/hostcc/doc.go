// Package hostcc is hostCC (Agarwal et al., "Host Congestion Control", SIGCOMM 2023; the rules are
// those of its public Linux module): congestion between NIC and memory as a signal, and a throttle
// of the host's own traffic to memory.
//
// [Host] smooths two signals and decides. [Host.Sampler] is for an agent of nicoffload: it takes
// samples, throttles, and answers whether the host is congested; [Around] lets an algorithm hear
// that as marks.
//
// The module marks packets as they arrive, for their sender to hear of; here it is the sender's own
// host. The package imports nicoffload, cc and units; what reads the signals and what throttles are
// hostsense's.
package hostcc
