// Package hostsense reads the state of this machine: caches, processor load, pressure stall
// information, and, where available, counters of the memory system (MSR, perf_event) and its
// control (resctrl). No other package reads them.
//
// A feature that the machine lacks returns [Absent] with the reason; no value is guessed. Emulated
// values have Emulated in their name.
//
//	host := hostsense.This()
//	llc, err := host.LLC()                 // size, line, ways
//	busy, err := host.Busy()               // a Sampler: busy fraction since the last call
//	host.Describe(os.Stdout)               // everything available, and reasons for the rest
//
// nicoffload's agent turns the values of a [Sampler] into HOST events. [MBA] throttles the memory
// bandwidth of a group of programs where resctrl supports it.
//
// The package imports os, x/sys/unix and units; tests read a copy of /proc and /sys.
package hostsense
