// Package hostsense is what this machine says of itself: its caches, how busy its processors are,
// how long its programs wait (pressure), and, where the machine has them, counters of the memory
// system (MSR, perf_event) and control of it (resctrl). It is the one place that reads any of that.
//
// What a machine has not got is [Absent], with the reason; nothing is guessed. What is emulated
// says so.
//
//	host := hostsense.This()
//	llc, err := host.LLC()                 // size, line, ways
//	busy, err := host.Busy()               // a Sampler: part of all processors' time since the last call
//	host.Describe(os.Stdout)               // all of it, and why the rest is not there
//
// A [Sampler] is what nicoffload's agent takes, and makes HOST events of. [MBA] throttles what a
// group of programs takes from memory, where resctrl can.
//
// The package imports os, x/sys/unix and units; tests read a copy of /proc and /sys.
package hostsense
