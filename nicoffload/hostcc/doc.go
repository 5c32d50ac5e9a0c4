// Package hostcc implements hostCC (Agarwal et al., "Host Congestion Control", SIGCOMM 2023; the
// rules are those of its public Linux module): congestion between NIC and memory as a signal, and
// throttling of the host's own memory traffic.
//
// [Host] smooths two signals and decides. [Host.Sampler] is a sampler for an agent of nicoffload:
// it reads the signals, throttles, and reports whether the host is congested; [WithMarks] converts
// that into marks for an algorithm.
//
// The module marks packets as they arrive, which signals a congested receiver to the sender; here
// the signal comes from the sender's own host. The package imports nicoffload, cc and units; the
// sources of signals and the actuators are in hostsense.
package hostcc
